import { followAll } from '../../../shared/app/follow/follow-all.ts';
import { ready, used } from './begin.ts';
import type { Cases } from './play.ts';

/** A cluster with a pool that is to have so many nodes. */
async function fixed(replicas: number) {
  const cluster = await ready();
  cluster.server.patch('nodepools', 'general', { spec: { replicas } }, 'object');
  const { policy } = cluster.ports;
  const ports = { ...cluster.ports, policy: { ...policy, gates: { ...policy.gates, staticCapacity: true } } };
  return { ...cluster, ports };
}

/** A class whose subnet was missing when it was looked at, and its pool. */
async function withoutSubnet() {
  const cluster = await ready();
  cluster.outside.subnet = { kind: 'refused', reason: 'SubnetNotFound', message: 'there is none' };
  await followAll(cluster.ports, [{ kind: 'AKSNodeClass', name: 'default' }]);
  await followAll(cluster.ports, [{ kind: 'NodePool', name: 'general' }]);
  cluster.outside.subnet = { kind: 'ready' };
  return cluster;
}

const hash = 'karpenter.sh/nodepool-hash';
const hashVersion = 'karpenter.sh/nodepool-hash-version';

/** NodePools and AKSNodeClasses. */
export const definitions: Cases = {
  'NodePool: new': {
    ending: 'it is judged',
    begin: async () => {
      const cluster = await ready();
      cluster.addPool('new', 'default', null);
      return { cluster, isDone: () => cluster.conditionOf('new', 'Ready', 'nodepools')?.['status'] === 'True' };
    },
  },
  'NodePool: not ready, and its class is ready by now': {
    ending: 'it is ready, and pods are planned for it',
    begin: async () => {
      const cluster = await withoutSubnet();
      await followAll(cluster.ports, [{ kind: 'AKSNodeClass', name: 'default' }]);
      cluster.addPod('p');
      const isReady = (): boolean => cluster.conditionOf('general', 'Ready', 'nodepools')?.['status'] === 'True';
      return { cluster, isDone: () => isReady() && cluster.server.list('nodeclaims').length === 1 };
    },
  },
  'NodePool: its template has changed': {
    ending: 'its hash is written anew, so that its nodes drift',
    begin: async () => {
      const cluster = await ready();
      const hashNow = (): unknown => cluster.server.get('nodepools', 'general')?.metadata.annotations?.[hash];
      const before = hashNow();
      const template = { metadata: { labels: { team: 'a' } } };
      cluster.server.patch('nodepools', 'general', { spec: { template } }, 'object');
      return { cluster, isDone: () => hashNow() !== before };
    },
  },
  'NodePool: its node is gone': {
    ending: 'its status says so',
    waits: ["node-pool.ts 'a change'"],
    begin: async () => {
      const cluster = await used();
      await followAll(cluster.ports, [{ kind: 'NodePool', name: 'general' }]);
      const count = (): unknown => cluster.server.get('nodepools', 'general')?.status?.['nodes'];
      if (count() !== 1) throw new Error(`one node was to be counted, and it is ${String(count())}`);
      cluster.azure.machines.clear();
      cluster.server.remove('pods', 'default/web');
      cluster.server.remove('nodes', 'aks-c');
      cluster.server.remove('nodeclaims', 'c');
      return { cluster, isDone: () => count() === 0 };
    },
  },
  'NodePool: its hashes are of another version of Nodewright': {
    ending: 'it and its nodes are stamped anew, and do not drift',
    waits: ["node-pool.ts 'claims that could not be stamped'"],
    begin: async () => {
      const older = { [hash]: 'older', [hashVersion]: 'v0' };
      const cluster = await used({ annotations: older });
      cluster.server.patch('nodepools', 'general', { metadata: { annotations: older } }, 'object');
      const hashOf = (resource: string, name: string): unknown =>
        cluster.server.get(resource, name)?.metadata.annotations?.[hash];
      const isStamped = (): boolean =>
        hashOf('nodepools', 'general') !== 'older' && hashOf('nodeclaims', 'c') === hashOf('nodepools', 'general');
      return { cluster, isDone: isStamped };
    },
  },
  'NodePool: has fewer nodes than `replicas`': {
    ending: 'it gets more',
    begin: async () => {
      const cluster = await fixed(1);
      return { cluster, isDone: () => cluster.server.list('nodeclaims').length === 1 };
    },
  },
  'NodePool: has more nodes than `replicas`': {
    ending: 'the surplus is deleted',
    begin: async () => {
      const cluster = await fixed(0);
      cluster.addClaim('c', { labels: { 'karpenter.sh/nodepool': 'general' } });
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' };
    },
  },
  'AKSNodeClass: new': {
    ending: 'it is judged',
    begin: async () => {
      const cluster = await ready();
      cluster.addClass(null, 'new');
      return { cluster, isDone: () => cluster.conditionOf('new', 'Ready', 'aksnodeclasses')?.['status'] === 'True' };
    },
  },
  'AKSNodeClass: not ready, and its subnet is there by now': {
    ending: 'it is ready',
    begin: async () => {
      const cluster = await withoutSubnet();
      const isReady = (): boolean => cluster.conditionOf('default', 'Ready', 'aksnodeclasses')?.['status'] === 'True';
      return { cluster, isDone: isReady };
    },
  },
  'AKSNodeClass: has changed': {
    ending: 'its hash is written anew, so that its nodes drift',
    begin: async () => {
      const cluster = await ready();
      const hashNow = () => JSON.stringify(cluster.server.get('aksnodeclasses', 'default')?.metadata.annotations);
      const before = hashNow();
      cluster.server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 77 } }, 'object');
      return { cluster, isDone: () => hashNow() !== before };
    },
  },
  'AKSNodeClass: Azure has newer images for it': {
    ending: 'its status has them, and its nodes drift',
    waits: ["node-class.ts 'the next look at Azure'"],
    begin: async () => {
      const cluster = await used({ status: { imageID: 'image' } });
      cluster.outside.images = [{ id: 'newer', requirements: [] }];
      return { cluster, isDone: () => cluster.conditionOf('c', 'Drifted')?.['reason'] === 'ImageDrift' };
    },
  },
  'AKSNodeClass: deleted, and its last NodeClaim is gone': {
    ending: 'it goes',
    waits: ['node-class.ts message'],
    begin: async () => {
      const cluster = await ready();
      cluster.server.delete('aksnodeclasses', 'default');
      return { cluster, isDone: () => cluster.server.get('aksnodeclasses', 'default') === null };
    },
  },
};
