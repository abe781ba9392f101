import { followAll } from '../../../shared/app/follow/follow-all.ts';
import { LAUNCHED_HERE_WITHIN_MS, provision } from '../../../shared/app/provision/provision.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { denying, since, START } from '../../kit/app/small-cluster.ts';
import { launched, promised, ready, saying } from './begin.ts';
import type { Cases } from './play.ts';

const GIVEN_UP = 'it is given up; its pods are told, and planned again';
const startupTaints = [{ key: 'driver', effect: 'NoSchedule' }];
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

/** NodeClaims on their way to a node that is in use. */
export const newClaims: Cases = {
  'NodeClaim: new, without a machine': {
    ending: 'the machine is ordered',
    begin: async () => {
      const cluster = await promised();
      return { cluster, isDone: () => cluster.azure.orders.some(({ claim }) => claim === 'c') };
    },
  },
  'NodeClaim: of the first decision after a quiet time, and who was to launch it has died': {
    ending: 'the machine is ordered',
    begin: async () => {
      const cluster = await ready();
      cluster.addPod('p');
      cluster.clock.advance(10_000);
      const outcome = await provision(cluster.ports, { mayLaunch: true });
      // The message about them is for later, and is lost.
      const comes = cluster.sent.flatMap(({ hint, atMs }) => (hint.kind === 'launches' ? [atMs] : []));
      const toLaunch = outcome.kind === 'provisioned' ? outcome.toLaunch : [];
      if (toLaunch.length !== 1 || comes[0] !== cluster.clock.now() + LAUNCHED_HERE_WITHIN_MS)
        throw new Error(`one claim was to be launched here, and told of later: ${outcome.kind}, ${comes.join()}`);
      return { cluster, isDone: () => cluster.azure.orders.length > 0 };
    },
  },
  'NodeClaim: waits for its class to be judged': {
    ending: 'the machine is ordered',
    waits: ['launch.ts message'],
    begin: async () => {
      const unjudged = { ...since(START, 'Launched', 'Unknown'), reason: 'NodeClassReadinessUnknown' };
      const cluster = await promised({ status: { conditions: [unjudged] } });
      return { cluster, isDone: () => cluster.azure.orders.some(({ claim }) => claim === 'c') };
    },
  },
  'NodeClaim: waits until Azure takes requests again': {
    ending: 'the machine is ordered',
    waits: ["launch.ts 'Azure, which throttles'"],
    begin: async () => {
      const message = `Azure throttles requests: asked again at ${new Date(START + 30_000).toISOString()}`;
      const throttled = { type: 'Launched', status: 'Unknown', reason: 'RequestsThrottled', message };
      const cluster = await promised({ status: { conditions: [throttled] } });
      return { cluster, isDone: () => cluster.azure.orders.some(({ claim }) => claim === 'c') };
    },
  },
  'NodeClaim: may not have a machine, by a policy of Azure': {
    ending: GIVEN_UP,
    waits: ['launch.ts `launch: ${attempt.reason}`', "launch.ts 'the next offering to try'"],
    begin: async () => {
      const cluster = await promised();
      cluster.outside.launch = () => ({ kind: 'rejected', reason: 'RequestDisallowedByPolicy', message: 'no' });
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: has a machine that Azure does not show': {
    ending: GIVEN_UP,
    waits: ["follow.ts 'Azure to show its machine'"],
    begin: async () => {
      const cluster = await launched();
      cluster.azure.machines.delete('c');
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: has a machine that Azure could not make': {
    ending: GIVEN_UP,
    begin: async () => {
      const cluster = await launched();
      const failure = { refusal: null, reason: 'AllocationFailed', message: 'no capacity' };
      cluster.outside.observe = (own) => ({ kind: 'failed', machine: own, ...failure });
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: waits for its node to join': {
    ending: GIVEN_UP,
    waits: ["follow.ts 'the node to join'", "record-launch.ts 'the node to join'"],
    begin: async () => {
      const cluster = await launched();
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: waits for its node to say which machine it is on': {
    ending: GIVEN_UP,
    waits: ["follow.ts 'a node with the right providerID'"],
    begin: async () => {
      const cluster = await launched();
      cluster.addNode('c', { id: 'another', taints: [unregistered] });
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: on its way, and nobody waits for it any more': {
    ending: 'it is withdrawn',
    begin: async () => {
      const cluster = await launched();
      cluster.server.remove('pods', 'default/p');
      return {
        cluster,
        isDone: () => cluster.stateOf('c') !== 'there' && cluster.eventsOn('c').includes('Withdrawn'),
      };
    },
  },
  'NodeClaim: has a node that has joined': {
    ending: 'the node is registered, and kept for its pods',
    waits: ["register.ts 'the node to become ready'"],
    begin: async () => {
      const cluster = await launched();
      cluster.addNode('c', { taints: [unregistered], ready: 'False' });
      return { cluster, isDone: () => cluster.taintsOf('c').some(({ key }) => key === 'nodewright.dev/reserved') };
    },
  },
  'NodeClaim: waits for its node to become ready': {
    ending: GIVEN_UP,
    begin: async () => {
      const cluster = await launched({ conditions: saying('Launched', 'Registered') });
      cluster.addOwnNode('c', { labels: { 'karpenter.sh/initialized': 'false' } }, 'False');
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: has a node whose startup taint is gone': {
    ending: 'the node is in use',
    waits: ['initialize.ts obstacle.message'],
    begin: async () => {
      const cluster = await launched({ conditions: saying('Launched', 'Registered'), spec: { startupTaints } });
      cluster.addOwnNode('c', { labels: { 'karpenter.sh/initialized': 'false' } });
      return { cluster, isDone: () => cluster.conditionOf('c', 'Initialized')?.['status'] === 'True' };
    },
  },
  'NodeClaim: cannot be written, nor its node, and nobody denies it': {
    ending: GIVEN_UP,
    begin: async () => {
      const cluster = await launched();
      cluster.addNode('c', { taints: [unregistered] });
      cluster.outside.onRequest = ({ method, path }) => {
        const isOfClaim = path.includes('/nodeclaims/c') || path.includes('/nodes/aks-c');
        if (method === 'PATCH' && isOfClaim) throw new RetryableError('no answer');
      };
      return { cluster, isDone: cluster.isGivenUp };
    },
  },
  'NodeClaim: may be written again, after a policy forbade it': {
    ending: 'it is written, once the policy lets it',
    waits: ["follow-all.ts `${refusal.policy ?? 'the API server'} to let it be written`"],
    begin: async () => {
      const cluster = await launched({ conditions: saying('Launched', 'Registered') });
      cluster.addOwnNode('c');
      cluster.outside.deny = denying('PATCH', '/nodeclaims/c/status');
      await followAll(cluster.ports, [{ kind: 'NodeClaim', name: 'c' }]);
      cluster.outside.deny = () => null;
      return { cluster, isDone: () => cluster.conditionOf('c', 'Initialized')?.['status'] === 'True' };
    },
  },
};
