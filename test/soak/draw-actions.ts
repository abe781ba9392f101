import { type Rng, rngFrom } from '../../sandbox/base/rng.ts';
import { apps, type ExtraPool, type Job } from './workloads.ts';

/** How Azure goes wrong for a while. */
export type AzureFault = 'throttled' | 'errors' | 'lost-answers' | 'slow' | 'no-spot' | 'zone-down' | 'no-quota';

/** What dies by kill -9 and is started again by who keeps it. */
export type Part = 'relay' | 'functions host' | 'service bus';

/** One thing that happens. `pick` chooses among what is there at that moment. */
export type Action =
  | { readonly kind: 'scale'; readonly app: string; readonly replicas: number }
  | ({ readonly kind: 'job' } & Job)
  | ({ readonly kind: 'add-pool' } & ExtraPool)
  | { readonly kind: 'remove-pool'; readonly name: string }
  | { readonly kind: 'limit-pool'; readonly name: string; readonly cpu: number }
  | { readonly kind: 'drift'; readonly pool: string; readonly value: string }
  | { readonly kind: 'delete'; readonly what: 'Node' | 'NodeClaim'; readonly pick: number }
  | { readonly kind: 'evict'; readonly pick: number; readonly count: number; readonly noticeSeconds: number }
  | { readonly kind: 'azure'; readonly fault: AzureFault; readonly seconds: number }
  | { readonly kind: 'kill'; readonly part: Part }
  | { readonly kind: 'storage-away'; readonly seconds: number }
  | { readonly kind: 'cut-watches' }
  | { readonly kind: 'freeze'; readonly pick: number; readonly seconds: number };

/** An action, and when it happens: milliseconds since the churn began. */
export interface Timed {
  readonly atMs: number;
  readonly action: Action;
}

/**
 * How often each kind comes in one deck, about as in half an hour of churn by hand, where it was done by hand at all.
 */
const DECK: Readonly<Record<Action['kind'] | 'pool', number>> = {
  scale: 18,
  job: 11,
  evict: 6,
  delete: 4,
  pool: 3,
  drift: 2,
  azure: 5,
  kill: 3,
  'storage-away': 1,
  'cut-watches': 1,
  freeze: 2,
  'limit-pool': 1,
  'add-pool': 0,
  'remove-pool': 0,
};

/** Between two actions at least, milliseconds. */
const PAUSE_LEAST_MS = 2_000;
/** Between two actions in the mean, seconds, unless asked for: a deck takes six and a half minutes then. */
export const PAUSE_S = 7;
/** Faults of Azure last so long, seconds. */
const FAULT = { leastS: 30, spanS: 31 };
const PICKS = 1_000;
const FAULTS: ReadonlyArray<AzureFault> = [
  'throttled',
  'errors',
  'lost-answers',
  'slow',
  'no-spot',
  'zone-down',
  'no-quota',
];
const PARTS: ReadonlyArray<Part> = ['relay', 'functions host', 'service bus'];
const POOLS = ['spot', 'general', 'batch'] as const;

/** What may be left out of a soak: kinds of actions, and some of their sorts. */
export const leavable: ReadonlyArray<string> = [
  ...Object.keys(DECK).filter((kind) => kind !== 'pool'),
  'evict-unannounced',
  ...PARTS.map(killOf),
];

function killOf(part: Part): string {
  return `kill-${part.replace(' ', '-')}`;
}

/** Is the action, or its sort, among those that are left out? */
export function isLeftOut(action: Action, without: ReadonlySet<string>): boolean {
  const isUnannounced = action.kind === 'evict' && action.noticeSeconds === 0;
  const sort = action.kind === 'kill' ? killOf(action.part) : isUnannounced ? 'evict-unannounced' : action.kind;
  return without.has(action.kind) || without.has(sort);
}

/**
 * All that happens in `churnMs` milliseconds, in order, with a pause of `pauseS` seconds in the mean. The same seed
 * draws the same.
 */
export function drawActions(seed: string, churnMs: number, pauseS = PAUSE_S): ReadonlyArray<Timed> {
  const spanMs = 2 * (1_000 * pauseS - PAUSE_LEAST_MS);
  const rng = rngFrom(`soak/${seed}`);
  const draft: Draft = { rng, extra: new Map(), made: 0, busyUntilMs: 0, faults: [], parts: [] };
  const timed: Array<Timed> = [];
  let deck: ReadonlyArray<string> = [];
  for (let atMs = PAUSE_LEAST_MS; atMs < churnMs; atMs += PAUSE_LEAST_MS + rng.below(spanMs)) {
    if (deck.length === 0) deck = shuffled(fullDeck(), rng);
    const [kind = 'scale', ...rest] = deck;
    deck = rest;
    timed.push({ atMs, action: drawOne(draft, kind, atMs) });
  }
  return timed;
}

interface Draft {
  readonly rng: Rng;
  /** Pools that were added, each with its limit. */
  readonly extra: Map<string, number | null>;
  /** Numbers for names. */
  made: number;
  /** Until when Azure has a fault already. */
  busyUntilMs: number;
  /** What is left of the faults and parts before each comes again. */
  faults: ReadonlyArray<AzureFault>;
  parts: ReadonlyArray<Part>;
}

function fullDeck(): ReadonlyArray<string> {
  return Object.entries(DECK).flatMap(([kind, count]) => Array.from({ length: count }, () => kind));
}

/** Fisher and Yates. */
function shuffled<T>(items: ReadonlyArray<T>, rng: Rng): ReadonlyArray<T> {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = rng.below(last + 1);
    const moved = mixed[last] as T;
    mixed[last] = mixed[other] as T;
    mixed[other] = moved;
  }
  return mixed;
}

function drawOne(draft: Draft, kind: string, atMs: number): Action {
  const { rng } = draft;
  switch (kind) {
    case 'job':
      return drawJob(draft);
    case 'pool':
      return drawPool(draft);
    case 'limit-pool':
      return drawLimit(draft);
    case 'drift':
      return { kind, pool: pickOf(rng, POOLS), value: `v${++draft.made}` };
    case 'delete':
      return { kind, what: rng.chance(50) ? 'Node' : 'NodeClaim', pick: rng.below(PICKS) };
    case 'evict':
      return {
        kind,
        pick: rng.below(PICKS),
        count: rng.chance(25) ? 3 : 1,
        noticeSeconds: rng.chance(35) ? 0 : 30,
      };
    case 'azure':
      return drawFault(draft, atMs);
    case 'kill':
      return { kind, part: drawPart(draft) };
    case 'storage-away':
      return { kind, seconds: 10 + rng.below(15) };
    case 'cut-watches':
      return { kind };
    case 'freeze':
      return { kind, pick: rng.below(PICKS), seconds: FAULT.leastS + rng.below(60) };
    default:
      return drawScale(rng);
  }
}

function drawScale(rng: Rng): Action {
  const app = pickOf(rng, apps);
  return { kind: 'scale', app: app.name, replicas: rng.below(app.replicas.most + 1) };
}

function drawJob(draft: Draft): Action {
  const { rng } = draft;
  return {
    kind: 'job',
    name: `job-${++draft.made}`,
    pods: 1 + rng.below(8),
    cpu: pickOf(rng, ['200m', '500m', '1', '1500m']),
    seconds: 10 + rng.below(40),
    isBatch: rng.chance(40),
    isProtected: rng.chance(30),
  };
}

/** Two at most, so that a pool is removed about as often as one is added. */
function drawPool(draft: Draft): Action {
  const { rng, extra } = draft;
  const [oldest] = extra.keys();
  if (oldest !== undefined && (extra.size === 2 || rng.chance(40))) {
    extra.delete(oldest);
    return { kind: 'remove-pool', name: oldest };
  }
  const name = `extra-${++draft.made}`;
  const limitCpu = rng.chance(60) ? 8 + 4 * rng.below(5) : null;
  extra.set(name, limitCpu);
  const capacityTypes = pickOf(rng, [['spot'], ['on-demand'], ['spot', 'on-demand']] as const);
  return { kind: 'add-pool', name, weight: pickOf(rng, [10, 60, 90]), capacityTypes, limitCpu };
}

function drawLimit(draft: Draft): Action {
  const { rng, extra } = draft;
  const [name] = extra.keys();
  if (name === undefined) return drawPool(draft);
  return { kind: 'limit-pool', name, cpu: 4 + 4 * rng.below(4) };
}

/** One at a time: who heals Azure heals all of it. */
function drawFault(draft: Draft, atMs: number): Action {
  const { rng } = draft;
  if (atMs < draft.busyUntilMs) return drawScale(rng);
  const seconds = FAULT.leastS + rng.below(FAULT.spanS);
  draft.busyUntilMs = atMs + 1_000 * seconds;
  if (draft.faults.length === 0) draft.faults = shuffled(FAULTS, rng);
  const [fault = 'errors', ...rest] = draft.faults;
  draft.faults = rest;
  return { kind: 'azure', fault, seconds };
}

function drawPart(draft: Draft): Part {
  if (draft.parts.length === 0) draft.parts = shuffled(PARTS, draft.rng);
  const [part = 'relay', ...rest] = draft.parts;
  draft.parts = rest;
  return part;
}

function pickOf<T>(rng: Rng, items: ReadonlyArray<T>): T {
  return items[rng.below(items.length)] as T;
}
