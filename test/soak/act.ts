import type { Child } from '../../sandbox/world/processes/child.ts';
import { noFaults } from '../../sandbox/azure/state/options.ts';
import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import type { World } from '../e2e/kit/world.ts';
import { type Book, OF_AZURE } from './book.ts';
import type { Action, AzureFault, Part } from './draw-actions.ts';
import type { Observed } from './observe.ts';
import { apps, appManifests, extraPool, jobManifest } from './workloads.ts';

/** What actions work on, and where they are written down. */
export interface Stage {
  readonly world: World;
  readonly observed: Observed;
  readonly book: Book;
  readonly nowMs: () => number;
}

const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const POOLS = '/apis/karpenter.sh/v1/nodepools';
const NODES = '/api/v1/nodes';

/**
 * Carries out one action and writes it down. What is to be broken may be gone already: then nothing happens, and the
 * book says so.
 */
export async function act(stage: Stage, action: Action): Promise<string> {
  const what = await carryOut(stage, action).catch((error: unknown) => {
    if (isApiError(error, 404) || isApiError(error, 409)) return `nothing: ${String(error)}`;
    throw error;
  });
  stage.book.done.push({ atMs: stage.nowMs(), kind: action.kind, what });
  return what;
}

async function carryOut(stage: Stage, action: Action): Promise<string> {
  switch (action.kind) {
    case 'scale':
      return scale(stage, action);
    case 'job':
      stage.book.touched.set(action.name, stage.nowMs());
      await stage.world.apply(jobManifest(action));
      return `Job ${action.name} of ${action.pods} pods`;
    case 'add-pool':
    case 'remove-pool':
    case 'limit-pool':
    case 'drift':
      return changePool(stage, action);
    case 'delete':
      return remove(stage, action);
    case 'evict':
      return evict(stage, action);
    case 'azure':
      return breakAzure(stage, action);
    case 'kill':
      return kill(stage, action.part);
    case 'storage-away':
      return loseStorage(stage, action.seconds);
    case 'cut-watches':
      stage.world.sandbox.cutWatches();
      return 'watches of the relay cut';
    case 'freeze':
      return freeze(stage, action);
    default:
      return action satisfies never;
  }
}

async function changePool(
  { world, book, nowMs }: Stage,
  action: Extract<Action, { readonly kind: 'add-pool' | 'remove-pool' | 'limit-pool' | 'drift' }>,
): Promise<string> {
  const { api } = world;
  switch (action.kind) {
    case 'add-pool':
      if (action.limitCpu !== null) book.limits.set(action.name, { cpu: action.limitCpu, sinceMs: nowMs() });
      await world.apply(extraPool(action));
      return `pool ${action.name} added, weight ${action.weight}, limit ${action.limitCpu ?? 'none'}`;
    case 'remove-pool':
      await api.remove(`${POOLS}/${action.name}`, { propagationPolicy: 'Background' });
      return `pool ${action.name} removed`;
    case 'limit-pool':
      book.limits.set(action.name, { cpu: action.cpu, sinceMs: nowMs() });
      await api.patch(`${POOLS}/${action.name}`, 'merge', { spec: { limits: { cpu: String(action.cpu) } } });
      return `pool ${action.name} limited to ${action.cpu} cores`;
    case 'drift': {
      const labels = { 'soak.test/version': action.value };
      await api.patch(`${POOLS}/${action.pool}`, 'merge', { spec: { template: { metadata: { labels } } } });
      return `nodes of ${action.pool} drift`;
    }
    default:
      return action satisfies never;
  }
}

async function scale(
  { world, book, nowMs }: Stage,
  { app: name, replicas }: { readonly app: string; readonly replicas: number },
): Promise<string> {
  const app = apps.find((one) => one.name === name);
  if (app === undefined) throw new Error(`there is no app ${name}`);
  book.touched.set(name, nowMs());
  await world.apply(...appManifests(app, replicas).slice(0, 1));
  return `${name} scaled to ${replicas}`;
}

async function remove(
  { world, observed }: Stage,
  { what, pick }: { readonly what: 'Node' | 'NodeClaim'; readonly pick: number },
): Promise<string> {
  // A Node that is deleted before its claim knows it never comes back, and its claim is given up after 15 minutes, as
  // Karpenter's.
  const known = (name: string): boolean => observed.claims.get(name)?.readyMs !== null;
  const claim = chosen(
    observed.claimsThere().filter((name) => what === 'NodeClaim' || known(name)),
    pick,
  );
  if (claim === null) return 'nothing: there is no node to delete';
  const path = what === 'Node' ? `${NODES}/aks-${claim}` : `${CLAIMS}/${claim}`;
  await world.api.remove(path, {});
  return `${what} of ${claim} deleted`;
}

function evict(
  { world, book, nowMs }: Stage,
  { pick, count, noticeSeconds }: { readonly pick: number; readonly count: number; readonly noticeSeconds: number },
): string {
  const spot = world.sandbox.azure
    .vms()
    .filter(({ capacityType, powerState }) => capacityType === 'spot' && powerState === 'running')
    .map(({ name }) => name)
    .toSorted();
  const taken: Array<string> = [];
  for (let index = 0; index < Math.min(count, spot.length); index++) {
    const name = chosen(spot, pick + index) ?? '';
    book.struck.set(name, nowMs());
    world.sandbox.azure.evict(name, { noticeSeconds });
    taken.push(name);
  }
  return taken.length === 0
    ? 'nothing: there is no spot machine to evict'
    : `Azure evicts ${taken.join(', ')} with ${noticeSeconds} s of notice`;
}

/** More requests than anybody sends. */
const ALL = 1_000_000;
/** What a throttled Azure asks to wait, seconds: within a fault's length, so that a wait ends soon after it. */
const RETRY_AFTER_S = 20;

function breakAzure(
  stage: Stage,
  { fault, seconds }: { readonly fault: AzureFault; readonly seconds: number },
): string {
  const { azure } = stage.world.sandbox;
  const quota = azure.quota();
  const heal = (): Promise<void> => {
    azure.heal();
    azure.setQuota(quota);
    return Promise.resolve();
  };
  trouble(stage, `${OF_AZURE}${fault}`, seconds, heal);
  switch (fault) {
    case 'throttled':
      azure.orderFault({
        method: null,
        pathContains: '/subscriptions/',
        times: ALL,
        fault: { kind: 'throttle', code: null, retryAfterSeconds: RETRY_AFTER_S },
      });
      break;
    case 'errors':
      azure.setFaults({ ...noFaults, serverErrorPercent: 40, unavailablePercent: 20 });
      break;
    case 'lost-answers':
      azure.setFaults({ ...noFaults, lostResponsePercent: 40, garbagePercent: 10 });
      break;
    case 'slow':
      azure.setFaults({ ...noFaults, slowPercent: 60, slowMs: 8_000 });
      break;
    case 'no-spot':
      azure.exhaust({ size: null, zone: null, capacityType: 'spot', code: 'SkuNotAvailable', remaining: 0 });
      break;
    case 'zone-down':
      azure.failZone('1');
      break;
    case 'no-quota':
      azure.setQuota({ ...quota, totalRegionalCores: 0, lowPriorityCores: 0 });
      break;
    default:
      return fault satisfies never;
  }
  return `Azure for ${seconds} s: ${fault}`;
}

/**
 * From the kill until the next process is ready; a relay leads again when the Lease of the one before has run out,
 * after 15 s.
 */
const KILLED_S = 15;

async function kill(stage: Stage, part: Part): Promise<string> {
  const { relay, host, broker } = stage.world.sandbox;
  const children: Readonly<Record<Part, Child>> = { relay, 'functions host': host, 'service bus': broker };
  trouble(stage, `${part} killed`, KILLED_S, () => Promise.resolve());
  await children[part].crash();
  return `${part} killed`;
}

/**
 * Stopped and not killed: Azurite would lose what it has not saved yet, and Azure loses nothing that it has answered.
 */
async function loseStorage(stage: Stage, seconds: number): Promise<string> {
  const { storage } = stage.world.sandbox;
  trouble(stage, 'storage away', seconds, () => storage.start());
  await storage.stop();
  return `storage away for ${seconds} s`;
}

function freeze(stage: Stage, { pick, seconds }: { readonly pick: number; readonly seconds: number }): string {
  const { kubelets } = stage.world.sandbox.cluster;
  const there = kubelets.names().filter((one) => stage.observed.nodes.get(one)?.goneMs === null);
  const name = chosen(there.toSorted(), pick);
  if (name === null) return 'nothing: there is no kubelet to stop';
  stage.book.struck.set(name, stage.nowMs());
  kubelets.freeze(name);
  const thaw = (): Promise<void> => (kubelets.names().includes(name) ? kubelets.thaw(name) : Promise.resolve());
  trouble(stage, `kubelet of ${name} stopped`, seconds, thaw);
  return `kubelet of ${name} stops for ${seconds} s`;
}

function trouble({ book, nowMs }: Stage, what: string, seconds: number, end: () => Promise<void>): void {
  const fromMs = nowMs();
  book.troubles.push({ what, fromMs, dueMs: fromMs + 1_000 * seconds, endedMs: null, end });
}

function chosen(names: ReadonlyArray<string>, pick: number): string | null {
  return names[pick % Math.max(1, names.length)] ?? null;
}
