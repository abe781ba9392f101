import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Rng } from '../base/rng.ts';
import { startApiServer } from './api/start-api-server.ts';
import { connect, isApiError } from './client/connection.ts';
import { startControlPlane } from './control-plane/control-plane.ts';
import { startControllers } from './controllers/controllers.ts';
import type { MachineSpec } from './kubelet/machine.ts';
import type { PodPace } from './kubelet/pod-lives.ts';
import { startKubelets, type Kubelets } from './kubelet/kubelets.ts';
import { startScheduler } from './scheduler/scheduler.ts';

/** How to run a cluster's control plane and kubelets. */
export interface ClusterOptions extends Partial<PodPace> {
  /** `real` runs the binaries in `assets`; `embedded` runs doubles in this process. */
  readonly mode: 'embedded' | 'real';
  /** For `real`: the folder of the binaries, by convention the value of KUBEBUILDER_ASSETS. */
  readonly assets?: string;
  /** Where the cluster keeps what it writes: data, certificates, logs, the kubeconfig. */
  readonly folder: string;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Silence after which a node is lost; 50 s unless told, as kube-controller-manager has it. */
  readonly nodeGraceMs?: number;
  /** Between two renewals of one node's Lease; by default 10 s, growing to 20 s with the number of nodes. */
  readonly leaseRenewMs?: number;
  /** True: one system node is there from the start, tainted CriticalAddonsOnly as AKS taints a system pool. */
  readonly systemNode?: boolean;
  readonly log?: (line: string) => void;
}

/**
 * A running cluster. It starts without nodes, pools or pods, like an AKS cluster whose only pool is the system pool.
 */
export interface Cluster {
  readonly mode: 'embedded' | 'real';
  readonly url: string;
  readonly kubeconfigPath: string;
  /** The kubeconfig's text: cluster administrator. */
  readonly kubeconfig: string;
  readonly kubelets: Kubelets;
  /** Stops everything, kubelets first. Harmless when repeated. */
  close(): Promise<void>;
}

interface Plane {
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Starts a cluster and resolves when its API answers and its kubelets watch. Throws what keeps it from starting. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const plane = await startPlane(options);
  try {
    await ensureNamespace(plane.kubeconfig, 'kube-node-lease');
    const kubelets = await startKubelets({
      ...options,
      kubeconfig: plane.kubeconfig,
      rng: options.rng.split('kubelets'),
    });
    if (options.systemNode === true) await kubelets.join(systemNode);
    let closing: Promise<void> | null = null;
    const close = (): Promise<void> => {
      kubelets.close();
      return plane.close();
    };
    return {
      mode: options.mode,
      url: plane.url,
      kubeconfigPath: plane.kubeconfigPath,
      kubeconfig: plane.kubeconfig,
      kubelets,
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await plane.close();
    throw error;
  }
}

async function startPlane(options: ClusterOptions): Promise<Plane> {
  const { mode, assets } = options;
  if (mode === 'embedded') return startEmbedded(options);
  if (assets === undefined)
    throw new Error('assets: mode real needs the folder of the binaries; set KUBEBUILDER_ASSETS');
  return startControlPlane({ ...options, assets });
}

/** The API double with our own controllers and scheduler, all in this process. Nothing outlives it. */
async function startEmbedded(options: ClusterOptions): Promise<Plane> {
  const api = await startApiServer({ port: 0, clock: options.clock });
  const { url, kubeconfig } = api;
  const controllers = await startControllers({ ...options, kubeconfig });
  const scheduler = await startScheduler({ ...options, kubeconfig, rng: options.rng.split('scheduler') });
  mkdirSync(options.folder, { recursive: true });
  const kubeconfigPath = join(options.folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, kubeconfig, { mode: 0o600 });
  const close = (): Promise<void> => {
    scheduler.close();
    controllers.close();
    return api.close();
  };
  return { url, kubeconfigPath, kubeconfig, close };
}

/** The controller of the API server that makes its own namespaces runs a moment after it is ready. */
async function ensureNamespace(kubeconfig: string, name: string): Promise<void> {
  const connection = connect(kubeconfig);
  try {
    await connection.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
  } finally {
    connection.close();
  }
}

/** A node of AKS' default system pool: Standard_D4ds_v5, with what AKS keeps back for itself. */
const systemNode: MachineSpec = {
  name: 'aks-system-00000000-vmss000000',
  providerId:
    'azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachineScaleSets/aks-system-00000000-vmss/virtualMachines/0',
  labels: {
    'kubernetes.azure.com/mode': 'system',
    'kubernetes.azure.com/agentpool': 'system',
    'node.kubernetes.io/instance-type': 'Standard_D4ds_v5',
  },
  taints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }],
  capacity: { cpu: '4', memory: '16374440Ki', 'ephemeral-storage': '129886128Ki', pods: '110' },
  allocatable: { cpu: '3860m', memory: '14180072Ki', 'ephemeral-storage': '119703055367', pods: '110' },
  kubeletVersion: 'v1.36.3',
  readyDelayMs: 0,
};
