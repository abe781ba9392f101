import type { Decision } from '../../../shared/ports/store.ts';
import { START, decisionOf, denying, since } from '../../kit/app/small-cluster.ts';
import { inUse, launched, saying, used } from './begin.ts';
import type { Cases } from './play.ts';

const reserved = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };
const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const startupTaints = [{ key: 'driver', effect: 'NoSchedule' }];
const YEAR_MS = 365 * 24 * 60 * 60_000;
const registered = saying('Launched', 'Registered');

/** A node that is kept for some, in this state of its claim. */
async function kept(given: Parameters<typeof launched>[0], taints: ReadonlyArray<object> = []) {
  const cluster = await launched(given);
  cluster.addOwnNode('c', { labels: { 'karpenter.sh/initialized': 'false' }, taints: [...taints, reserved] });
  return { ...cluster, isOpen: () => !cluster.taintsOf('c').some(({ key }) => key === reserved.key) };
}

/** Nodes that are closed to pods, but to some or to all. */
export const nodes: Cases = {
  'Node: kept for pods that do not come': {
    ending: 'it is open to all',
    waits: ["open-node.ts 'the pods that its node was made for'"],
    begin: async () => {
      const cluster = await kept({ conditions: registered });
      return { cluster, isDone: cluster.isOpen };
    },
  },
  'Node: kept for pods, with a startup taint on it': {
    ending: 'it is open to all',
    begin: async () => {
      const cluster = await kept({ conditions: registered, spec: { startupTaints } }, startupTaints);
      return { cluster, isDone: cluster.isOpen };
    },
  },
  'Node: kept for pods that do not move to it': {
    ending: 'it is open to all',
    waits: ["open-node.ts 'the successors of pods that move to its node'"],
    begin: () => keptForMover({}),
  },
  'Node: kept for pods that another holds back by their spread over hosts': {
    ending: 'it is open to all',
    begin: () => keptForMover({ crowds: [{ owner: 'o', shape: 's', most: 2 }] }),
  },
  'Node: kept for pods, and neither it nor they may be written': {
    ending: 'its pods are planned again',
    begin: async () => {
      const cluster = await kept({ conditions: registered });
      const [node, pod] = [denying('PATCH', '/nodes/aks-c'), denying('PATCH', '/pods/p')];
      cluster.outside.deny = (request) => node(request) ?? pod(request);
      return { cluster, isDone: () => cluster.others().length > 0 };
    },
  },
  'Node: kept for pods that do not come, since a time that has not come yet': {
    ending: 'it is open to all',
    begin: async () => {
      const conditions = [since(START, 'Launched'), since(START + YEAR_MS, 'Registered')];
      const cluster = await kept({ conditions });
      return { cluster, isDone: cluster.isOpen };
    },
  },
  'Node: closed, and nothing says why': {
    ending: 'it is opened',
    begin: async () => {
      const cluster = await used();
      cluster.server.patch('nodes', 'aks-c', { spec: { taints: [disrupted] } }, 'object');
      return { cluster, isDone: () => cluster.taintsOf('c').length === 0 };
    },
  },
};

/** The pod has gone, and nobody knows how many its owner wants. */
async function keptForMover(parts: Pick<Decision, 'crowds'>) {
  const cluster = await kept({ conditions: inUse });
  cluster.keepNodes();
  const movers = [{ uid: 'gone', owner: 'o', shape: 's' }];
  await cluster.ports.decisions.put({ ...decisionOf(['c'], [{ name: 'default/web', uid: 'gone' }]), movers, ...parts });
  return { cluster, isDone: cluster.isOpen };
}
