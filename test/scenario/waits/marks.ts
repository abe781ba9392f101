import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import type { Fields } from '../../simulation/world/api-server.ts';
import { begunReplacement, consolidated, DISRUPTED, emptied } from '../../kit/app/consolidated.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { START, machine, since } from '../../kit/app/small-cluster.ts';
import { addStarting } from './begin.ts';
import type { Cases, Played } from './play.ts';

type Consolidated = ReturnType<typeof consolidated>;

const MINUTE_MS = 60_000;
const deadlineKey = 'karpenter.sh/nodeclaim-termination-timestamp';

/** The machines of all claims, as Azure has them. */
function withMachines<Cluster extends Consolidated>(cluster: Cluster): Cluster {
  for (const { metadata } of cluster.server.list('nodeclaims'))
    cluster.azure.machines.set(metadata.name, machine(metadata.name));
  return cluster;
}

/** Two nodes, one of which is empty and marked to go. */
async function marked(): Promise<Consolidated> {
  const cluster = withMachines(consolidated());
  const { kind } = await disrupt(cluster.ports);
  if (kind !== 'begun' || !cluster.marks('spare').tainted) throw new Error(`a mark was to be set, and it is ${kind}`);
  return cluster;
}

function isUnmarked({ marks, stateOf }: Consolidated, name = 'spare'): boolean {
  const { tainted, decision, reason } = marks(name);
  return !tainted && !decision && reason === undefined && stateOf(name) === 'there';
}

/** Marks the node as by a decision of its own, whose replacement has come. */
function markAsExpired(cluster: Consolidated, name: string): void {
  const { server } = cluster;
  cluster.addReady(`for-${name}`);
  const annotations = { 'nodewright.dev/disruption': `d-${name}`, 'nodewright.dev/replaced-by': `for-${name}` };
  server.patch('nodeclaims', name, { metadata: { annotations }, spec: { expireAfter: '1s' } }, 'object');
  const conditions = server.get('nodeclaims', name)?.status?.['conditions'] as ReadonlyArray<Fields>;
  const reason = { ...since(START, 'DisruptionReason'), reason: 'Expired' };
  server.patch('nodeclaims', name, { status: { conditions: [...conditions, reason] } }, 'status');
  server.patch('nodes', `aks-${name}`, { spec: { taints: [DISRUPTED] } }, 'object');
}

function annotate({ server }: Consolidated, annotations: Fields): void {
  server.patch('nodepools', 'general', { metadata: { annotations } }, 'object');
}

/** A pod that leaves no other room on the claim's node. */
function addFull({ addRunning }: Consolidated, name: string, claim: string): void {
  addRunning(name, claim, { spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] } });
}

/** A full node behind a new image, in a pool that tries one first, for ten minutes. */
function behind(): Consolidated {
  const cluster = emptied();
  const { server, outside } = cluster;
  const images = [{ id: 'newer', requirements: [] }];
  outside.images = images;
  server.patch('aksnodeclasses', 'default', { status: { images } }, 'status');
  annotate(cluster, { 'nodewright.dev/bake-time': '10m' });
  cluster.addReady('old');
  const conditions = server.get('nodeclaims', 'old')?.status?.['conditions'] as ReadonlyArray<Fields>;
  const drifted = { ...since(START, 'Drifted'), reason: 'ImageDrift' };
  server.patch('nodeclaims', 'old', { status: { imageID: 'image', conditions: [...conditions, drifted] } }, 'status');
  addFull(cluster, 'web', 'old');
  return cluster;
}

/** What is marked to go, and what keeps nodes from being. */
export const marks: Cases = {
  'Mark: on a node that may go': {
    ending: 'its NodeClaim is deleted',
    begin: async () => {
      const cluster = await marked();
      return { cluster, isDone: () => cluster.stateOf('spare') !== 'there' };
    },
  },
  "Mark: waits for what comes in the node's place": {
    ending: 'it comes off, and the node stays',
    waits: ["judge-begun.ts 'replacements'"],
    begin: async () => {
      const cluster = withMachines(await begunReplacement());
      return { cluster, isDone: () => isUnmarked(cluster, 'large') };
    },
  },
  'Mark: waits for a node that starts to take the pods': {
    ending: 'it comes off, and the node stays',
    waits: ['judge-begun.ts `${awaited.length} nodes to start`'],
    begin: async () => {
      const cluster = emptied();
      cluster.addReady('old');
      cluster.server.patch('nodeclaims', 'old', { spec: { expireAfter: '1s' } }, 'object');
      cluster.addRunning('web', 'old');
      addStarting(cluster, 'new');
      cluster.clock.advance(2_000);
      const { kind } = await disrupt(withMachines(cluster).ports);
      if (kind !== 'begun' || cluster.server.list('nodeclaims').length !== 2)
        throw new Error(`the pod was to move to the node that starts, and it is ${kind}`);
      return { cluster, isDone: () => isUnmarked(cluster, 'old') };
    },
  },
  'Mark: waits for a snapshot that is newer than it': {
    ending: 'it comes off, and the node stays',
    waits: ["judge-begun.ts 'the scheduler to see the taint'"],
    begin: async (): Promise<Played> => {
      const cluster = await marked();
      const latest = async () => ({ ...(await cluster.ports.snapshots.list()), takenAtMs: START });
      const ports = { ...cluster.ports, snapshots: { ...cluster.ports.snapshots, latest } };
      return { cluster: { ...cluster, ports }, isDone: () => isUnmarked(cluster) };
    },
  },
  'Mark: its budgets let fewer go by now': {
    ending: 'it comes off, and the node stays',
    waits: ['judge-begun.ts `the budgets of NodePool ${overdrawn} to allow this many removals`'],
    begin: async () => {
      const cluster = await marked();
      const disruption = { budgets: [{ nodes: '0' }] };
      cluster.server.patch('nodepools', 'general', { spec: { disruption } }, 'object');
      return { cluster, isDone: () => isUnmarked(cluster) };
    },
  },
  'Mark: another node of its static NodePool is to go first': {
    ending: 'it comes off, and the node stays',
    waits: ['judge-begun.ts `another node of the static NodePool ${fixed} to go first`'],
    begin: async () => {
      const cluster = consolidated();
      const { server, ports } = cluster;
      server.patch('nodepools', 'general', { spec: { replicas: 2 } }, 'object');
      // Both are old, and have what comes in their place: two decisions have met.
      for (const name of ['used', 'spare']) markAsExpired(cluster, name);
      const gates = { ...ports.policy.gates, staticCapacity: true };
      const played = { ...withMachines(cluster), ports: { ...ports, policy: { ...ports.policy, gates } } };
      return { cluster: played, isDone: () => isUnmarked(cluster, 'used') && isUnmarked(cluster) };
    },
  },
  'Mark: a budget of its pods allows no eviction by now, and its replacement has come': {
    ending: 'it comes off, and the node stays',
    waits: ['judge-begun.ts why'],
    begin: async () => {
      const cluster = withMachines(await begunReplacement());
      cluster.initialize();
      cluster.addRunning('late', 'large', { metadata: { labels: { app: 'db' } } });
      cluster.server.create('poddisruptionbudgets', {
        metadata: { name: 'db', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'db' } } },
      });
      cluster.server.patch('poddisruptionbudgets', 'default/db', { status: { disruptionsAllowed: 0 } }, 'status');
      return { cluster, isDone: () => isUnmarked(cluster, 'large') };
    },
  },
  'Mark: the room of its pods is gone, and other pods wait for nodes': {
    ending: 'it comes off, and the node stays',
    waits: ["judge-begun.ts 'nodes for pods that wait'"],
    begin: async () => {
      const cluster = emptied();
      cluster.addReady('old');
      cluster.addReady('open');
      cluster.server.patch('nodeclaims', 'old', { spec: { expireAfter: '1s' } }, 'object');
      addFull(cluster, 'web', 'old');
      cluster.clock.advance(2_000);
      const { kind } = await disrupt(withMachines(cluster).ports);
      if (kind !== 'begun' || cluster.server.list('nodeclaims').length !== 2)
        throw new Error(`the pod was to move to the open node, and it is ${kind}`);
      addFull(cluster, 'other', 'open');
      cluster.addPod('waits', '1500m');
      return { cluster, isDone: () => isUnmarked(cluster, 'old') };
    },
  },
  'Mark: its node goes, and its deletion fails': {
    ending: 'it comes off, and the node stays',
    begin: async () => {
      const cluster = await marked();
      cluster.outside.onRequest = ({ method, path }) => {
        if (method === 'DELETE' && path.endsWith('/nodeclaims/spare')) throw new RetryableError('the webhook is down');
      };
      return { cluster, isDone: () => isUnmarked(cluster) };
    },
  },
  'Mark: written by half': {
    ending: 'it comes off, and the node stays',
    waits: ["judge-begun.ts 'all nodes to be tainted'"],
    begin: async () => {
      const cluster = await marked();
      cluster.server.patch('nodes', 'aks-spare', { spec: { taints: [] } }, 'object');
      return { cluster, isDone: () => isUnmarked(cluster) };
    },
  },
  'Mark: while disruption is switched off': {
    ending: 'it comes off, and the node stays',
    begin: async (): Promise<Played> => {
      const cluster = await marked();
      const ports = { ...cluster.ports, disruption: { ...cluster.ports.disruption, isOn: false } };
      return { cluster: { ...cluster, ports }, isDone: () => isUnmarked(cluster) };
    },
  },
  'Deadline: of a removal that failed': {
    ending: 'it comes off with the mark',
    begin: async () => {
      const cluster = await marked();
      const annotations = { [deadlineKey]: '2026-12-01T00:00:00Z' };
      cluster.server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');
      cluster.addRunning('late', 'spare');
      const deadline = (): unknown => cluster.server.get('nodeclaims', 'spare')?.metadata.annotations?.[deadlineKey];
      return { cluster, isDone: () => isUnmarked(cluster) && deadline() === undefined };
    },
  },
  'Canary: does not come into use': {
    ending: 'its roll-out is halted, and the NodePool says why',
    begin: () => {
      const cluster = withMachines(behind());
      addStarting(cluster, 'canary');
      const { server } = cluster;
      const isHalted = (): boolean =>
        server.get('nodepools', 'general')?.metadata.annotations?.['nodewright.dev/rollout-halted'] !== undefined &&
        cluster.conditionOf('general', 'RolloutHealthy', 'nodepools')?.['status'] === 'False';
      return { cluster, isDone: isHalted };
    },
  },
  'Canary: proves itself, for 10 min here': {
    ending: 'the next node is marked',
    begin: () => {
      const cluster = behind();
      cluster.addReady('canary');
      addFull(cluster, 'first', 'canary');
      const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));
      cluster.server.patch('nodeclaims', 'canary', { status: { imageID: 'newer', conditions } }, 'status');
      return { cluster: withMachines(cluster), isDone: () => cluster.marks('old').reason === 'Drifted' };
    },
  },
  'NodePool: paused, for 5 min here': {
    ending: 'its nodes are marked again',
    begin: () => {
      const cluster = withMachines(consolidated());
      annotate(cluster, { 'nodewright.dev/pause-disruption': new Date(START + 5 * MINUTE_MS).toISOString() });
      return { cluster, isDone: () => cluster.marks('spare').decision };
    },
  },
  'NodePool: three replacements have failed': {
    ending: 'its nodes are marked again',
    begin: () => {
      const cluster = withMachines(consolidated());
      const failures = ['a', 'b', 'c'].map((decision) => `${decision}=2026-12-01T00:00:00Z`).join(',');
      annotate(cluster, { 'nodewright.dev/disruption-failures': failures });
      return { cluster, isDone: () => cluster.marks('spare').decision };
    },
  },
};
