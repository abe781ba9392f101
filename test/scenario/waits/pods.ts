import { provision } from '../../../shared/app/provision/provision.ts';
import { RetryableError, UnreadableError } from '../../../shared/ports/errors.ts';
import { START, decisionOf, denying } from '../../kit/app/small-cluster.ts';
import { offering, size, zones } from '../../kit/core/build.ts';
import { addStarting, DECISION, ready, used } from './begin.ts';
import type { Cases } from './play.ts';

const MINUTE_MS = 60_000;
const LEASE = 'nodewright-system/nodewright-generation';

/** A cluster with a pod that waits. */
async function waiting() {
  const cluster = await ready();
  const pod = cluster.addPod('p');
  return { ...cluster, pod, isPlanned: () => cluster.server.list('nodeclaims').length > 0 };
}

/** The same, with a decision that somebody has committed and died over. */
async function committed() {
  const cluster = await waiting();
  const decision = decisionOf(['c'], [cluster.pod]);
  await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
  const isExecuted = (): boolean =>
    cluster.server.get('leases', LEASE)?.metadata.annotations?.['nodewright.dev/executed-generation'] === '1';
  return { ...cluster, decision, isExecuted };
}

/** Pods that wait, and what they wait for: a decision, Azure, a snapshot. */
export const pods: Cases = {
  'Pod: waits for others that may come with it': {
    ending: 'it is planned for',
    begin: async () => {
      const cluster = await waiting();
      const { kind } = await provision(cluster.ports);
      if (kind !== 'waiting') throw new Error(`others were to be waited for, and it is ${kind}`);
      return { cluster, isDone: cluster.isPlanned };
    },
  },
  'Pod: its NodeClaim was denied by a policy': {
    ending: 'it is planned for anew',
    begin: async () => {
      const cluster = await waiting();
      cluster.clock.advance(10_000);
      const deny = denying('POST', '');
      cluster.outside.deny = (request) => (request.path.endsWith('/nodeclaims') ? deny(request) : null);
      await provision(cluster.ports);
      cluster.outside.deny = () => null;
      return { cluster, isDone: cluster.isPlanned };
    },
  },
  'Pod: its NodeClaim cannot be created, and nobody denies it': {
    ending: 'it is planned for by another NodePool',
    begin: async () => {
      const cluster = await waiting();
      cluster.addPool('failing');
      cluster.server.patch('nodepools', 'failing', { spec: { weight: 100 } }, 'object');
      cluster.outside.onRequest = ({ method, path, body }) => {
        const isOfPool = JSON.stringify(body ?? {}).includes('"karpenter.sh/nodepool":"failing"');
        if (method === 'POST' && path.endsWith('/nodeclaims') && isOfPool) throw new RetryableError('no answer');
      };
      return { cluster, isDone: cluster.isPlanned };
    },
  },
  'Pod: has its place on a node that does not come into use': {
    ending: 'it is told what the node waits for',
    begin: async () => {
      const cluster = await ready();
      addStarting(cluster, 'c');
      cluster.addPod('p');
      return { cluster, isDone: () => cluster.eventsOn('p').includes('NodeNotInUse') };
    },
  },
  'Pod: was nominated to a node that is open and too small for it': {
    ending: 'it is planned for',
    begin: async () => {
      const cluster = await used({ annotations: { 'nodewright.dev/decision': DECISION } });
      cluster.keepNodes();
      await cluster.ports.decisions.put(decisionOf(['c'], [cluster.addPod('p', '1900m')]));
      cluster.server.patch('pods', 'default/p', { status: { nominatedNodeName: 'aks-c' } }, 'status');
      return { cluster, isDone: () => cluster.others().length > 0 };
    },
  },
  'Refusal: by Azure of all sizes, for 5 min here': {
    ending: 'pods are planned for anew',
    begin: async () => {
      const cluster = await waiting();
      const sold = cluster.outside.types;
      const offerings = zones.map((zone) => offering(zone, 'on-demand', 100_000, false));
      cluster.outside.types = [size('Standard_D2_v5', 2, 8, 100_000, { offerings })];
      cluster.clock.after(5 * MINUTE_MS, () => void (cluster.outside.types = sold));
      return { cluster, isDone: cluster.isPlanned };
    },
  },
  'Decision: its execution has died': {
    ending: 'it is carried out',
    begin: async () => {
      const cluster = await committed();
      await cluster.ports.decisions.put(cluster.decision);
      return { cluster, isDone: () => cluster.stateOf('c') === 'there' && cluster.isExecuted() };
    },
  },
  'Decision: a write of it fails': {
    ending: 'it ends with what could be done',
    begin: async () => {
      const cluster = await committed();
      await cluster.ports.decisions.put(cluster.decision);
      cluster.outside.onRequest = ({ method, path }) => {
        if (method === 'POST' && path.endsWith('/nodeclaims')) throw new RetryableError('503');
      };
      return { cluster, isDone: cluster.isExecuted };
    },
  },
  'Decision: its record is gone': {
    ending: 'it is passed over, and its pods are planned again',
    begin: async () => {
      const cluster = await committed();
      return { cluster, isDone: cluster.isPlanned };
    },
  },
  'Snapshot: its relay is silent': {
    ending: 'the API server is listed, and pods are planned for',
    begin: async () => {
      const cluster = await ready();
      const seen = await cluster.ports.snapshots.latest();
      cluster.addPod('p');
      const snapshots = {
        ...cluster.ports.snapshots,
        latest: () => Promise.resolve(seen),
        heartbeatMs: () => Promise.resolve(START),
      };
      const ports = { ...cluster.ports, snapshots };
      return { cluster: { ...cluster, ports }, isDone: () => cluster.server.list('nodeclaims').length > 0 };
    },
  },
  'Snapshot: cannot be read': {
    ending: 'the API server is listed, and pods are planned for',
    begin: async () => {
      const cluster = await waiting();
      const latest = () => Promise.reject(new UnreadableError('damaged'));
      const ports = { ...cluster.ports, snapshots: { ...cluster.ports.snapshots, latest } };
      return { cluster: { ...cluster, ports }, isDone: cluster.isPlanned };
    },
  },
};
