import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Node, Pod, StringMap, Taint } from '../../../sandbox/kubernetes/client/objects.ts';
import type { MachineSpec } from '../../../sandbox/kubernetes/kubelet/machine.ts';
import type { Kubelets } from '../../../sandbox/kubernetes/kubelet/kubelets.ts';

/** What the cases run on: a control plane of any kind with our kubelets. */
export interface Runtime {
  readonly kubeconfig: string;
  readonly kubelets: Kubelets;
  close(): Promise<void>;
}

/** Silence after which a node is lost, in these tests. */
export const NODE_GRACE_MS = 4_000;
/** A slow machine under load; conditions are met in a tenth of it elsewhere. */
const PATIENCE_MS = 80_000;
const POLL_MS = 50;

/** Calls `probe` until it answers without throwing; throws its last error when patience ends. */
export async function eventually<T>(probe: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

/** A namespace and nodes of one case, with words for what cases do in them. */
export interface Stage {
  readonly namespace: string;
  readonly connection: Connection;
  readonly kubelets: Kubelets;
  /**
   * A machine of 4 CPUs and 16 GiB of which all but 0.1 CPU and 1 GiB are allocatable; it is labelled with the case.
   */
  join(name: string, options?: Partial<MachineSpec>): Promise<string>;
  /** Waits until the node is Ready and may be scheduled to. */
  untilReady(name: string): Promise<Node>;
  create<T>(kind: string, body: object): Promise<T>;
  get<T>(kind: string, name: string): Promise<T>;
  pods(labels?: StringMap): Promise<ReadonlyArray<Pod>>;
  /** A pod template that only this case's nodes satisfy. */
  template(labels: StringMap, spec?: object, annotations?: StringMap): object;
  close(): Promise<void>;
}

const groups: Readonly<Record<string, string>> = {
  pods: 'api/v1',
  deployments: 'apis/apps/v1',
  daemonsets: 'apis/apps/v1',
  replicasets: 'apis/apps/v1',
  statefulsets: 'apis/apps/v1',
  jobs: 'apis/batch/v1',
  poddisruptionbudgets: 'apis/policy/v1',
  events: 'api/v1',
};

/** Opens a stage of its own for one case. Names of its nodes begin with the case's name. */
export async function openStage({ kubeconfig, kubelets }: Runtime, name: string): Promise<Stage> {
  const connection = connect(kubeconfig);
  // Where a case is tried again, its first namespace may not be gone yet.
  await eventually(() =>
    connection.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  );
  const nodes = new Set<string>();
  const collection = (kind: string): string => `/${groups[kind] ?? ''}/namespaces/${name}/${kind}`;
  return {
    namespace: name,
    connection,
    kubelets,
    join: async (short, options) => {
      const node = `${name}-${short}`;
      nodes.add(node);
      await kubelets.join(machine(node, name, options));
      return node;
    },
    untilReady: (node) =>
      eventually(async () => {
        const found = await connection.get<Node>(`/api/v1/nodes/${node}`);
        const ready = found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
        if (ready !== true) throw new Error(`${node} is not ready`);
        const sick = (found.spec?.taints ?? []).find(({ key }: Taint) => key.startsWith('node.kubernetes.io/'));
        if (sick !== undefined) throw new Error(`${node} is still tainted ${sick.key}`);
        return found;
      }),
    create: (kind, body) => connection.create(collection(kind), body),
    get: (kind, object) => connection.get(`${collection(kind)}/${object}`),
    pods: async (labels = {}) => {
      const list = await connection.get<{ readonly items: ReadonlyArray<Pod> }>(collection('pods'));
      return list.items.filter(({ metadata }) =>
        Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value),
      );
    },
    template: (labels, spec = {}, annotations = {}) => ({
      metadata: { labels, annotations },
      spec: {
        nodeSelector: { stage: name },
        terminationGracePeriodSeconds: 5,
        containers: [
          { name: 'main', image: 'example.test/main', resources: { requests: { cpu: '100m', memory: '64Mi' } } },
        ],
        ...spec,
      },
    }),
    close: async () => {
      await connection.remove(`/api/v1/namespaces/${name}`);
      for (const node of nodes) {
        kubelets.remove(node, null);
        await connection.remove(`/api/v1/nodes/${node}`).catch(() => undefined);
      }
      await connection.remove(`${collection('pods')}?gracePeriodSeconds=0`).catch(() => undefined);
      connection.close();
    },
  };
}

function machine(name: string, stage: string, options: Partial<MachineSpec> = {}): MachineSpec {
  return {
    name,
    providerId: `azure:///subscriptions/00000000-0000-0000-0000-000000000000/${name}`,
    taints: [],
    capacity: { cpu: '4', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' },
    allocatable: { cpu: '3900m', memory: '15Gi', pods: '110', 'ephemeral-storage': '90Gi' },
    kubeletVersion: 'v1.36.3',
    readyDelayMs: 0,
    ...options,
    labels: { stage, 'topology.kubernetes.io/zone': 'region-1', ...options.labels },
  };
}

/** Requests as a container's resources. */
export function asking(cpu: string, memory = '64Mi'): object {
  return { containers: [{ name: 'main', image: 'example.test/main', resources: { requests: { cpu, memory } } }] };
}

/** Throws unless `actual` is `wanted`; for use in `eventually`. */
export function must<T>(actual: T, wanted: T, what: string): void {
  if (JSON.stringify(actual) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: is ${JSON.stringify(actual)}, should be ${JSON.stringify(wanted)}`);
  }
}

/** True when the pod's Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** The message of the pod's PodScheduled=False condition, empty while there is none. */
export function unschedulableMessage(pod: Pod): string {
  const condition = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return condition?.reason === 'Unschedulable' ? (condition.message ?? '') : '';
}
