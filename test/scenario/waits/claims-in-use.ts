import { denying, since, START } from '../../kit/app/small-cluster.ts';
import { size } from '../../kit/core/build.ts';
import { inUse, used } from './begin.ts';
import type { Cases } from './play.ts';

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 24 * 60 * MINUTE_MS;

/** NodeClaims whose nodes are in use: at rest, and something about them has changed. */
export const claimsInUse: Cases = {
  'NodeClaim: in use, and its machine is gone': {
    ending: 'it is deleted, and its pods are planned again',
    begin: async () => {
      const cluster = await used();
      cluster.azure.machines.delete('c');
      const conditions = [since(START, 'Ready', 'Unknown')];
      cluster.server.patch('nodes', 'aks-c', { status: { conditions } }, 'status');
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' && cluster.others().length > 0 };
    },
  },
  'NodeClaim: in use, and its node is gone, not its machine': {
    ending: 'it is deleted, and pods that count on it are planned again',
    waits: ["follow.ts 'its node to come back'", "follow.ts 'its node, which has just gone'"],
    begin: async () => {
      const cluster = await used();
      cluster.server.remove('nodes', 'aks-c');
      cluster.server.remove('pods', 'default/web');
      cluster.addPod('p');
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' && cluster.others().length > 0 };
    },
  },
  'NodeClaim: in use, its node is gone, and it may not be written': {
    ending: 'it is deleted, and pods that count on it are planned again',
    begin: async () => {
      const cluster = await used();
      cluster.server.remove('nodes', 'aks-c');
      cluster.server.remove('pods', 'default/web');
      cluster.addPod('p');
      const [own, status] = [denying('PATCH', '/nodeclaims/c'), denying('PATCH', '/nodeclaims/c/status')];
      cluster.outside.deny = (request) => own(request) ?? status(request);
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' && cluster.others().length > 0 };
    },
  },
  'NodeClaim: in use, and its node is gone since a time that has not come yet': {
    ending: 'it is deleted, and pods that count on it are planned again',
    begin: async () => {
      const conditions = [since(START, 'Launched'), since(START + YEAR_MS, 'Registered', 'Unknown')];
      const cluster = await used({ status: { conditions } });
      cluster.server.remove('nodes', 'aks-c');
      cluster.server.remove('pods', 'default/web');
      cluster.addPod('p');
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' && cluster.others().length > 0 };
    },
  },
  'NodeClaim: in use, and its image is not the newest any more': {
    ending: 'it says that it has drifted',
    begin: async () => {
      const cluster = await used({ status: { imageID: 'image' } });
      const images = [{ id: 'newer', requirements: [] }];
      cluster.outside.images = images;
      cluster.server.patch('aksnodeclasses', 'default', { status: { images } }, 'status');
      return { cluster, isDone: () => cluster.conditionOf('c', 'Drifted')?.['reason'] === 'ImageDrift' };
    },
  },
  'NodeClaim: in use, and its size is sold no more': {
    ending: 'it says that it has drifted',
    begin: async () => {
      const cluster = await used();
      cluster.keepNodes();
      cluster.outside.types = [size('Standard_D4_v5', 4, 16, 200_000)];
      return { cluster, isDone: () => cluster.conditionOf('c', 'Drifted')?.['reason'] === 'InstanceTypeNotFound' };
    },
  },
  'NodeClaim: in use, and new nodes get another kubelet identity': {
    ending: 'it says that it has drifted',
    begin: async () => {
      const cluster = await used();
      cluster.keepNodes();
      const identity = { 'kubernetes.azure.com/kubelet-identity-client-id': 'old' };
      cluster.server.patch('nodes', 'aks-c', { metadata: { labels: identity } }, 'object');
      cluster.outside.kubeletIdentity = 'new';
      return { cluster, isDone: () => cluster.conditionOf('c', 'Drifted')?.['reason'] === 'KubeletIdentityDrift' };
    },
  },
  'NodeClaim: in use, and `consolidateAfter` ends, after 5 min here': {
    ending: 'it says that it may be consolidated',
    waits: ["disruptable.ts 'nothing: it is ready'"],
    begin: async () => {
      const cluster = await used();
      const disruption = { consolidateAfter: '5m', consolidationPolicy: 'WhenEmptyOrUnderutilized' };
      cluster.server.patch('nodepools', 'general', { spec: { disruption } }, 'object');
      return { cluster, isDone: () => cluster.conditionOf('c', 'Consolidatable')?.['status'] === 'True' };
    },
  },
  'NodeClaim: in use, with a notice on it that nobody acted on': {
    ending: 'it is deleted, and its pods are planned again',
    begin: async () => {
      const at = (ms: number): string => new Date(ms).toISOString();
      const notice = `preempt by ${at(START + MINUTE_MS)} since ${at(START)}`;
      const cluster = await used({
        annotations: { 'nodewright.dev/interruption': notice },
        status: { conditions: inUse },
      });
      return { cluster, isDone: () => cluster.stateOf('c') !== 'there' && cluster.others().length > 0 };
    },
  },
};
