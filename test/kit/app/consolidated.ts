import type { Fields } from '../../simulation/world/api-server.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { AKS_REPAIRS } from '../../../shared/core/model/disruption-input.ts';
import type { Candidate } from '../../../shared/core/disruption/second-look/begun.ts';
import { size } from '../core/build.ts';
import { since, smallCluster, START } from './small-cluster.ts';

export const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

/** Two ready nodes of a consolidated pool: `used` with a pod, `spare` with none. */
export function consolidated(given: { readonly types?: number } = {}) {
  const cluster = smallCluster();
  const { server, outside } = cluster;
  const prices = [100_000, 400_000];
  outside.types = [2, 8]
    .slice(0, given.types ?? 1)
    .map((cpu, index) => size(`Standard_D${cpu}_v5`, cpu, 4 * cpu, prices[index] ?? 0));
  cluster.addClass('True');
  cluster.addPool();
  server.patch(
    'nodepools',
    'general',
    {
      spec: {
        disruption: {
          consolidateAfter: '0s',
          consolidationPolicy: 'WhenEmptyOrUnderutilized',
          budgets: [{ nodes: '100%' }],
        },
      },
    },
    'object',
  );
  const addReady = (name: string, cpu = 2, metadata: Fields = {}, nodePool = 'general'): void => {
    const labels = {
      'karpenter.sh/nodepool': nodePool,
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
      'karpenter.sh/capacity-type': 'on-demand',
      'node.kubernetes.io/instance-type': `Standard_D${cpu}_v5`,
      'topology.kubernetes.io/zone': 'westeurope-1',
      'kubernetes.io/hostname': `aks-${name}`,
    };
    const ago = START - 3_600_000;
    const conditions = ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'].map((type) =>
      since(ago, type),
    );
    const allocatable = { cpu: String(cpu), memory: `${4 * cpu}Gi`, pods: '110' };
    cluster.addClaim(name, {
      labels,
      ...metadata,
      status: { conditions, providerID: `azure://${name}`, nodeName: `aks-${name}` },
    });
    cluster.addNode(name, {
      labels,
      status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable, capacity: allocatable },
    });
  };
  addReady('used');
  cluster.addRunning('web', 'used');
  addReady('spare');
  const taintsOf = (name: string): ReadonlyArray<Fields> => server.get('nodes', `aks-${name}`)?.spec?.['taints'] ?? [];
  const annotationsOf = (name: string): Fields => server.get('nodeclaims', name)?.metadata.annotations ?? {};
  const marks = (name: string) => ({
    tainted: taintsOf(name).some(({ key }) => key === DISRUPTED.key),
    decision: annotationsOf(name)['nodewright.dev/disruption'] !== undefined,
    reason: cluster.conditionOf(name, 'DisruptionReason')?.['reason'],
  });
  const events = () =>
    server.list('events').map((event) => [(event as Fields)['reason'], (event as Fields)['message']]);
  return { ...cluster, addReady, marks, events };
}

/** The same without the two nodes. */
export function emptied(given: { readonly types?: number } = {}) {
  const cluster = consolidated(given);
  for (const name of ['spare', 'used']) {
    cluster.server.remove('nodes', `aks-${name}`);
    cluster.server.remove('nodeclaims', name);
  }
  cluster.server.remove('pods', 'default/web');
  return cluster;
}

/**
 * One large node with one small pod, for which a small node would do: it is marked, and the small one is on its way.
 */
export async function begunReplacement() {
  const cluster = emptied({ types: 2 });
  const { server, ports } = cluster;
  cluster.addReady('large', 8);
  cluster.addRunning('web', 'large');
  const outcome = await disrupt(ports);
  if (outcome.kind !== 'begun') throw new Error(`begun was to be, and it is ${JSON.stringify(outcome)}`);
  const replacement = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name ?? '';
  const initialize = (): void => {
    server.remove('nodeclaims', replacement);
    cluster.addReady(replacement, 2);
  };
  return { ...cluster, outcome, replacement, initialize };
}

/** `consolidated` among many nodes, with what AKS repairs; `says` sets what the kubelet of `used` says of `Ready`. */
export function sick() {
  const cluster = consolidated();
  const { server, ports, clock } = cluster;
  const says = (status: string): void => {
    const conditions = [{ type: 'Ready', status, lastTransitionTime: new Date(clock.now()).toISOString() }];
    server.patch('nodes', 'aks-used', { status: { conditions } }, 'status');
  };
  // Many nodes, or a single sick one would be more than the fifth that may be.
  for (let index = 0; index < 6; index++) {
    cluster.addReady(`other-${index}`);
    cluster.addRunning(`busy-${index}`, `other-${index}`, {
      spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] },
    });
  }
  const disruption = { isOn: true, policy: { ...ports.disruption.policy, repairs: AKS_REPAIRS } };
  return { ...cluster, ports: { ...ports, disruption }, says };
}

/** What is judged to go: the claim and its node, as they are. */
export async function candidateOf({ kubernetes }: Pick<Ports, 'kubernetes'>, name: string): Promise<Candidate> {
  const claim = await kubernetes.get('NodeClaim', { name, namespace: null });
  const node = await kubernetes.get('Node', { name: `aks-${name}`, namespace: null });
  if (claim === null || node === null) throw new Error(`there is no ${name}`);
  return { claim, node };
}
