import { followAll } from '../../../shared/app/follow/follow-all.ts';
import type { Fields } from '../../simulation/world/api-server.ts';
import { START, decisionOf, denying, vmItem } from '../../kit/app/small-cluster.ts';
import { DECISION, addStarting, ready, used } from './begin.ts';
import type { Cases } from './play.ts';

/** A claim in use that somebody has deleted; a look is one run of `follow`. */
async function deleted(given: { readonly annotations?: Fields; readonly spec?: Fields; readonly pod?: Fields } = {}) {
  const cluster = await used(given);
  const { server } = cluster;
  if (given.pod !== undefined) server.patch('pods', 'default/web', { metadata: given.pod }, 'object');
  server.delete('nodeclaims', 'c');
  return {
    ...cluster,
    look: () => followAll(cluster.ports, [{ kind: 'NodeClaim', name: 'c' }]),
    isPodLeaving: () => server.get('pods', 'default/web')?.metadata.deletionTimestamp !== undefined,
    isGone: () => cluster.stateOf('c') === 'gone' && server.get('nodes', 'aks-c') === null,
  };
}

/** Claims, nodes and machines on their way out. */
export const leavingClaims: Cases = {
  'NodeClaim: deleted, and its pods have not been told': {
    ending: 'its node is closed, and its pods are told to go',
    begin: async () => {
      const cluster = await deleted();
      return { cluster, isDone: cluster.isPodLeaving };
    },
  },
  'NodeClaim: deleted, and its last pod has ended': {
    ending: 'its machine is removed, and it goes',
    waits: ['terminate.ts text'],
    begin: async () => {
      const cluster = await deleted();
      await cluster.look();
      cluster.server.remove('pods', 'default/web');
      return { cluster, isDone: cluster.isGone };
    },
  },
  'NodeClaim: deleted, and a pod that nothing could evict may go': {
    ending: 'it is evicted, and then the machine removed',
    waits: ['terminate.ts outcome.blocked ?? text'],
    begin: async () => {
      const cluster = await deleted({ pod: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
      await cluster.look();
      cluster.endPods();
      const annotations = { 'karpenter.sh/do-not-disrupt': null };
      cluster.server.patch('pods', 'default/web', { metadata: { annotations } }, 'object');
      return { cluster, isDone: cluster.isGone };
    },
  },
  'Deadline: of `terminationGracePeriod`, 10 min here': {
    ending: 'pods that are left are deleted, whatever protects them',
    begin: async () => {
      const pod = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
      const cluster = await deleted({ pod, spec: { terminationGracePeriod: '10m' } });
      return { cluster, isDone: cluster.isPodLeaving };
    },
  },
  'NodeClaim: deleted, and waits for what comes in its place': {
    ending: 'its pods are told to go all the same',
    begin: async () => {
      const cluster = await deleted({ annotations: { 'nodewright.dev/replaced-by': 'd' } });
      addStarting(cluster, 'd');
      return { cluster, isDone: cluster.isPodLeaving };
    },
  },
  'NodeClaim: evicted by Azure, and nobody says what comes in its place': {
    ending: 'its pods are told to go',
    begin: async () => {
      const at = (ms: number): string => new Date(ms).toISOString();
      const cluster = await deleted({
        annotations: {
          'nodewright.dev/interruption': `redeploy by ${at(START + 900_000)} since ${at(START)}`,
          'nodewright.dev/replacement-due': at(START + 30_000),
          'karpenter.sh/nodeclaim-termination-timestamp': at(START + 900_000),
        },
      });
      // What is planned for its pods cannot be written down on it.
      cluster.outside.deny = denying('PATCH', '/nodeclaims/c');
      return { cluster, isDone: cluster.isPodLeaving };
    },
  },
  'NodeClaim: deleted, and its volumes are detached': {
    ending: 'its machine is removed, and it goes',
    waits: ['terminate.ts message'],
    begin: async () => {
      const cluster = await deleted();
      cluster.server.remove('pods', 'default/web');
      const spec = { nodeName: 'aks-c', source: { persistentVolumeName: 'v' } };
      cluster.server.create('volumeattachments', { metadata: { name: 'v' }, spec });
      await cluster.look();
      cluster.server.remove('volumeattachments', 'v');
      return { cluster, isDone: cluster.isGone };
    },
  },
  'NodeClaim: deleted, and Azure has removed its machine': {
    ending: 'Azure is asked again, and it goes when the machine has',
    waits: ["terminate.ts 'the machine to go'"],
    begin: async () => {
      const cluster = await deleted();
      cluster.server.remove('pods', 'default/web');
      cluster.outside.remove = () => 'deleting';
      await cluster.look();
      cluster.outside.remove = () => 'gone';
      return { cluster, isDone: cluster.isGone };
    },
  },
  'NodeClaim: deleted, and its machine is gone before its decision has been executed': {
    ending: 'that is carried out, and then it goes',
    waits: ["await-decision.ts 'its decision to be executed'"],
    begin: async () => {
      const cluster = await deleted({ annotations: { 'nodewright.dev/decision': DECISION } });
      cluster.server.remove('pods', 'default/web');
      const { ledger, decisions } = cluster.ports;
      await decisions.put(decisionOf(['c'], []));
      await ledger.commit(await ledger.read(), DECISION);
      await cluster.look();
      // No pod is on its way to it any more.
      cluster.clock.advance(5_000);
      await cluster.look();
      if (cluster.server.get('nodes', 'aks-c') !== null || cluster.isGone()) throw new Error('it does not wait');
      return { cluster, isDone: cluster.isGone };
    },
  },
  'NodeClaim: deleted before its node joined, and its decision has just been executed': {
    ending: 'it goes, as no request can make it again any more',
    waits: ["await-decision.ts 'the last requests of its decision'"],
    begin: async () => {
      const cluster = await ready();
      cluster.addClaim('c', { annotations: { 'nodewright.dev/decision': DECISION } });
      cluster.server.delete('nodeclaims', 'c');
      const { ledger } = cluster.ports;
      await ledger.commit(await ledger.read(), DECISION);
      await ledger.markExecuted(await ledger.read(), null);
      await followAll(cluster.ports, [{ kind: 'NodeClaim', name: 'c' }]);
      const isDone = (): boolean => cluster.stateOf('c') === 'gone';
      if (isDone()) throw new Error('it does not wait');
      return { cluster, isDone };
    },
  },
  'Node: deleted, and its NodeClaim is gone': {
    ending: 'it goes when its machine has',
    waits: ["release-node.ts 'the machine to go'"],
    begin: async () => {
      const cluster = await ready();
      cluster.addOwnNode('c');
      cluster.server.delete('nodes', 'aks-c');
      return { cluster, isDone: () => cluster.server.get('nodes', 'aks-c') === null };
    },
  },
  'VM: without a NodeClaim': {
    ending: 'it is removed',
    begin: async () => {
      const cluster = await ready();
      cluster.outside.inventory = () => (cluster.azure.deleted.length > 0 ? [] : [vmItem('c')]);
      return { cluster, isDone: () => cluster.azure.deleted.includes('c') };
    },
  },
};
