import type { SignalHint } from '../../../shared/contract/messages/messages.ts';
import type { Fields } from '../../simulation/world/api-server.ts';
import { START, machine, preemptionOf, since, smallCluster } from './small-cluster.ts';

/** The conditions of a claim whose node is in use. */
export const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));

/** The VM of claim `c`. */
export const vmId = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-c';

export const deadlineKey = 'karpenter.sh/nodeclaim-termination-timestamp';
export const replacedBy = 'nodewright.dev/replaced-by';
export const replacementDue = 'nodewright.dev/replacement-due';
export const interruption = 'nodewright.dev/interruption';
export const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

/** A moment as Kubernetes writes it. */
export const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** A notice that spot capacity is taken back a minute after the start. */
export const notice = (changes: Partial<SignalHint> = {}): SignalHint => preemptionOf(vmId, changes);

/** One with time enough for a machine to boot. */
export const longNotice = (): SignalHint => notice({ notBeforeMs: START + 600_000 });

const NOT_READY = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' };

/** A spot machine at rest, claim `c`, with so many pods on it, in a cluster that can have others. */
export function running(
  given: { readonly pods?: number; readonly annotations?: Fields; readonly labels?: Fields } = {},
) {
  const cluster = smallCluster();
  const { azure, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const labels = {
    'karpenter.sh/nodepool': 'general',
    'node.kubernetes.io/instance-type': 'Standard_D2_v5',
    'topology.kubernetes.io/zone': 'westeurope-1',
    'karpenter.sh/capacity-type': 'spot',
    ...given.labels,
  };
  cluster.addClaim('c', {
    labels,
    annotations: given.annotations ?? {},
    status: { providerID: `azure://${vmId}`, nodeName: 'aks-c', conditions },
  });
  azure.machines.set('c', machine('c', vmId));
  cluster.addNode('c', {
    id: vmId,
    labels: { ...labels, 'karpenter.sh/initialized': 'true' },
    status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
  });
  for (let index = 0; index < (given.pods ?? 1); index++) cluster.addRunning(`p-${index}`, 'c');
  return {
    ...cluster,
    annotations: () => server.get('nodeclaims', 'c')?.metadata.annotations ?? {},
    taints: () => server.get('nodes', 'aks-c')?.spec?.['taints'] as ReadonlyArray<Fields>,
    /** What Kubernetes says of a node whose kubelet has stopped. */
    stopKubelet: () => void server.patch('nodes', 'aks-c', { status: { conditions: [NOT_READY] } }, 'status'),
    others: () =>
      server
        .list('nodeclaims')
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== 'c'),
    leavingPods: () =>
      server
        .list('pods')
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => metadata.name),
    evictions: () => cluster.trace.filter((step) => step.endsWith('/eviction')).length,
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
  };
}
