import { followAll } from '../../../shared/app/follow/follow-all.ts';
import type { Fields } from '../../simulation/world/api-server.ts';
import { START, decisionOf, machine, since, smallCluster } from '../../kit/app/small-cluster.ts';

export const DECISION = '000000001-d';

/** Labels of a claim, and of its node, of pool `general`. */
export const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
} as const;

/** Conditions that have held since the start. */
export const saying = (...types: ReadonlyArray<string>): ReadonlyArray<Fields> =>
  types.map((type) => since(START, type));

/** The conditions of a claim whose node is in use. */
export const inUse: ReadonlyArray<Fields> = saying('Launched', 'Registered', 'Initialized', 'Ready');

/** What a node of the size that is sold here has. */
const room = {
  allocatable: { cpu: '2', memory: '8Gi', pods: '30' },
  capacity: { cpu: '2', memory: '8Gi', pods: '30' },
};

/** A cluster with a class and a pool that have been looked at, and are ready. */
export async function ready() {
  const cluster = smallCluster();
  cluster.addClass(null);
  cluster.addPool('general', 'default', null);
  await followAll(cluster.ports, [{ kind: 'AKSNodeClass', name: 'default' }]);
  await followAll(cluster.ports, [{ kind: 'NodePool', name: 'general' }]);
  const { server } = cluster;
  const eventsOn = (name: string): ReadonlyArray<unknown> =>
    (server.list('events') as ReadonlyArray<Fields>)
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason }) => reason as unknown);
  return {
    ...cluster,
    eventsOn,
    /** Claims beside `c`. */
    others: () => server.list('nodeclaims').filter(({ metadata }) => metadata.name !== 'c'),
    taintsOf: (claim: string) => (server.get('nodes', `aks-${claim}`)?.spec?.['taints'] ?? []) as ReadonlyArray<Fields>,
    /** Has the pool consolidate nothing, so that no node is looked at for that. */
    keepNodes: () =>
      server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: 'Never' } } }, 'object'),
    /** What a kubelet does for a pod that is told to go: it ends at once. */
    endPods: () =>
      server.watch(({ resource, after }) => {
        if (resource === 'pods' && after?.metadata.deletionTimestamp !== undefined)
          server.remove('pods', `default/${after.metadata.name}`);
      }),
    /** The Node of a claim, ready and in use unless said. */
    addOwnNode: (claim: string, given: Fields = {}, isReady = 'True') =>
      cluster.addNode(claim, {
        labels: {
          ...labels,
          'karpenter.sh/registered': 'true',
          'karpenter.sh/initialized': 'true',
          ...given['labels'],
        },
        finalizers: ['karpenter.sh/termination'],
        taints: given['taints'] ?? [],
        status: { conditions: [since(START, 'Ready', isReady)], ...room },
      }),
  };
}

/** A claim `c` that was decided on for a pod `p`, which waits. */
export async function promised(given: { readonly status?: Fields; readonly spec?: Fields } = {}) {
  const cluster = await ready();
  const pod = cluster.addPod('p');
  await cluster.ports.decisions.put(decisionOf(['c'], [pod]));
  cluster.addClaim('c', {
    labels,
    annotations: { 'nodewright.dev/decision': DECISION },
    spec: given.spec ?? {},
    status: given.status ?? {},
  });
  return {
    ...cluster,
    /** Its pod has heard that the node does not come, and another is on its way. */
    isGivenUp: () =>
      cluster.stateOf('c') !== 'there' && cluster.eventsOn('p').includes('NodeGivenUp') && cluster.others().length > 0,
  };
}

/** The same with a machine. */
export async function launched(
  given: { readonly conditions?: ReadonlyArray<Fields>; readonly status?: Fields; readonly spec?: Fields } = {},
) {
  const { conditions = saying('Launched'), spec = {} } = given;
  const cluster = await promised({ spec, status: { providerID: 'azure://c', conditions, ...given.status } });
  cluster.azure.machines.set('c', machine('c'));
  return cluster;
}

/** A claim `c` whose node is in use, with a pod `web` on it. */
export async function used(
  given: { readonly annotations?: Fields; readonly spec?: Fields; readonly status?: Fields } = {},
) {
  const cluster = await ready();
  cluster.addClaim('c', {
    labels,
    annotations: given.annotations ?? {},
    spec: given.spec ?? {},
    status: { providerID: 'azure://c', nodeName: 'aks-c', conditions: inUse, ...given.status },
  });
  cluster.azure.machines.set('c', machine('c'));
  cluster.addOwnNode('c');
  cluster.addRunning('web', 'c');
  return cluster;
}

const DRIVER = { key: 'driver', effect: 'NoSchedule' };

/** A claim whose node has registered, is ready, and waits for a driver that does not come. */
export function addStarting(
  { addClaim, addNode, azure }: Pick<ReturnType<typeof smallCluster>, 'addClaim' | 'addNode' | 'azure'>,
  name: string,
): void {
  addClaim(name, {
    labels,
    spec: { startupTaints: [DRIVER] },
    status: {
      providerID: `azure://${name}`,
      nodeName: `aks-${name}`,
      imageID: 'newer',
      conditions: saying('Launched', 'Registered'),
    },
  });
  addNode(name, {
    labels: { ...labels, 'karpenter.sh/registered': 'true' },
    taints: [DRIVER],
    status: { conditions: saying('Ready'), ...room },
  });
  azure.machines.set(name, machine(name));
}
