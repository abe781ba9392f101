import type { PlannedClaim } from '../../core/model/plan.ts';
import type { RetryableError, TerminalError } from '../../ports/errors.ts';
import type { Refusal } from '../../ports/kubernetes.ts';
import type { Decision, LedgerState } from '../../ports/store.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { WRITE_DENIED, clearDenied, failingBy } from '../tell/denied-condition.ts';
import { eventAboutPool } from '../tell/event-about.ts';
import { markForRemoval, type MarkedForRemoval } from './mark.ts';
import { withdrawClaims } from './withdraw.ts';
import { publish } from '../tell/events.ts';
import { hintLaunches } from '../ports/hint-objects.ts';
import { pastLimits } from './limits-now.ts';
import { alone, eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { DENIED_MS, tellDenied, tellFailing } from '../tell/tell-denied.ts';
import { type ClaimParts, toNodeClaim } from '../claims/to-node-claim.ts';

/** NodeClaims created at once. The API server takes about 5 ms each; more would crowd out other clients. */
const CREATIONS_AT_ONCE = 16;

/**
 * Claims that are hinted at together, as soon as they are there: of a large decision the first are launched while the
 * last are being created. Of a small one they are created first, which takes a second or two, as launches ask more of
 * the API server than creations.
 */
const HINTED_TOGETHER = 250;

/**
 * For so long after a decision was made, what fails of it for now is tried again, by whoever comes next. Then it ends
 * with what could be done, and what could not is planned for again: nobody can decide while a decision is being
 * executed.
 */
const TRIED_MS = 2 * 60_000;

/**
 * Others take a decision for left when its executor has not been heard of for 8 s. One that was held up for half as
 * long looks whether they have.
 */
const HELD_UP_MS = 4_000;

/** What has come of a decision. */
export interface Executed {
  /** Names of claims that could not be made, or that nobody wants any more. */
  readonly missing: ReadonlySet<string>;
  /** Why nothing goes of what was to go; null where it is marked, or nothing was to. */
  readonly kept: string | null;
}

/**
 * Creates the NodeClaims of a committed decision, sends hints to launch them, marks what is to be removed, and deletes
 * what is withdrawn. A failed write of one object concerns that object only: everything else continues. Throws what
 * failed for now of what is made or marked, once all have had their turn, within the time that a decision is tried for;
 * after that, and where only policies keep something from being done, the decision has been executed. Twice is as once.
 * `launchesAtMs`: when the function `launch` is to hear of the claims, milliseconds since the epoch; null: at once.
 */
export async function execute(
  ports: Ports,
  committed: LedgerState,
  decision: Decision,
  launchesAtMs: number | null = null,
): Promise<Executed> {
  const creations = await createClaims(ports, committed, decision, launchesAtMs);
  if (creations === null || (await isOver(ports, creations.state))) return DONE_BY_OTHERS;
  const { state, made } = creations;
  const isLast = !isTriedAgain(decision, ports.now());
  const failed = made.find(({ outcome }) => outcome.kind === 'failed')?.outcome;
  if (failed?.kind === 'failed' && !isLast) throw failed.error;
  await tellNotMade(ports, decision, made);
  const missing = made.filter(({ outcome }) => isMissing(decision, outcome));
  // What takes their pods is not there: nothing goes.
  const marked = missing.length > 0 ? NOTHING_MARKED : await markForRemoval(ports, decision, { isLast });
  if (marked.failed !== null) throw marked.failed;
  const kept = missing.length > 0 ? whyMissing(missing) : marked.kept;
  if (decision.removal !== undefined && kept !== null) await takeBack(ports, made);
  const withdrawn = await withdrawClaims(ports, decision);
  // Whoever decides next must see the marks, and what goes: they count as what the decision has written.
  const versions = made.map(({ outcome }) => (outcome.kind === 'there' ? outcome.version : null));
  await ports.ledger.markExecuted(state, newestOf([...versions, ...marked.versions, ...withdrawn]));
  const notThere = made.flatMap(({ name, outcome }) => (outcome.kind === 'there' ? [] : [name]));
  return { missing: new Set(notThere), kept: decision.removal === undefined ? null : kept };
}

/**
 * The decider's clock said when it was made: one that was ahead, and a write that always fails, would keep all others
 * from deciding for as long.
 */
function isTriedAgain({ atMs }: Decision, nowMs: number): boolean {
  const leftMs = atMs + TRIED_MS - nowMs;
  return leftMs > 0 && leftMs <= 2 * TRIED_MS;
}

const DONE_BY_OTHERS: Executed = { missing: new Set(), kept: null };

/**
 * Has somebody else finished the decision while we were held up? What it made may have failed and gone since: made
 * again, it would be beside what has been decided for its pods by now.
 */
async function isOver(ports: Ports, state: LedgerState): Promise<boolean> {
  const sinceMs = ports.now() - (state.heardAtMs ?? 0);
  // A clock that was ahead says nothing about how long ago that was.
  if (sinceMs >= 0 && sinceMs < HELD_UP_MS) return false;
  const { generation, executed } = await ports.ledger.read();
  return executed || generation !== state.generation;
}

/** Asks once a second at most, however many want to know. Where that fails the answer is no: it is asked once more. */
function oncePerSecond(ports: Ports, ask: () => Promise<boolean>): () => Promise<boolean> {
  let askedMs = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    if (ports.now() - askedMs >= 1_000) {
      askedMs = ports.now();
      answer = alone(ask).then((asked) => asked.kind === 'done' && asked.answer);
    }
    return answer;
  };
}

const NOTHING_MARKED: MarkedForRemoval = { versions: [], kept: null, failed: null };

/** What became of one claim. */
type Outcome =
  | { readonly kind: 'there'; readonly version: string | null }
  /**
   * Its pool is gone, and wants no more nodes; its pods are planned again elsewhere. What it was to come in the place
   * of stays.
   */
  | { readonly kind: 'unwanted' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /**
   * It would take its pool past a limit, as the API server has both by now, or has been given up. Its pods are planned
   * again.
   */
  | { readonly kind: 'not-made'; readonly why: string }
  | { readonly kind: 'failed'; readonly error: RetryableError | TerminalError };

interface Made {
  readonly name: string;
  readonly nodePool: string;
  readonly parts: ClaimParts | null;
  readonly outcome: Outcome;
}

/** Null: others have finished the decision. */
async function createClaims(
  ports: Ports,
  committed: LedgerState,
  decision: Decision,
  launchesAtMs: number | null,
): Promise<{ readonly state: LedgerState; readonly made: ReadonlyArray<Made> } | null> {
  let state = committed;
  const partsByPool = await partsOf(ports, decision);
  const known = [...partsByPool].flatMap(([name, parts]) =>
    parts.kind === 'done' ? [[name, parts.answer] as const] : [],
  );
  const past = await pastLimits(ports, decision, new Map(known));
  const numbered = decision.plan.claims.map((planned, index) => ({ planned, name: decision.claimNames[index] ?? '' }));
  const made: Array<Made> = [];
  let hinted = Promise.resolve();
  for (let start = 0; start < numbered.length; start += HINTED_TOGETHER) {
    // Each group is made as long as the decision is ours to execute.
    if (await isOver(ports, state)) return hinted.then(() => null);
    const before = state;
    let isStopped = false;
    const askedBySecond = oncePerSecond(ports, () => isOver(ports, before));
    const together = numbered.slice(start, start + HINTED_TOGETHER);
    const creating = eachAlone(together, CREATIONS_AT_ONCE, async ({ planned, name }): Promise<Outcome> => {
      const why = past.get(name);
      if (why !== undefined) return { kind: 'not-made', why };
      // Of those before it in its group each may have taken half a minute.
      if (await askedBySecond()) isStopped = true;
      if (isStopped) return { kind: 'unwanted' };
      return create(ports, decision, planned, { name, parts: partsByPool.get(planned.nodePool) });
    });
    // The hints of the claims before travel while these are created.
    const goingOn =
      start === 0 ? before : alone(() => ports.ledger.goOn(before)).then((heard) => orElse(heard, before));
    const [created, , heard] = await Promise.all([creating, hinted, goingOn]);
    if (isStopped) return null;
    state = heard;
    const group = together.map(({ name, planned: { nodePool } }, index): Made => {
      const parts = partsByPool.get(nodePool);
      return {
        name,
        nodePool,
        parts: parts?.kind === 'done' ? parts.answer : null,
        outcome: outcomeOf(created[index]),
      };
    });
    made.push(...group);
    if (decision.removal === undefined) hinted = hintLaunches(ports, namesThere(group), launchesAtMs);
  }
  await hinted;
  // What is to come in the place of nodes is paid for only where all of it comes: nothing goes otherwise, and it is
  // taken back.
  const isWhole = !made.some(({ outcome }) => isMissing(decision, outcome));
  if (decision.removal !== undefined && isWhole) await hintLaunches(ports, namesThere(made), launchesAtMs);
  return { state, made };
}

/**
 * Does it lack to what was decided? Pods whose pool is gone are planned again; a node does not go while what takes its
 * pods does not come.
 */
function isMissing({ removal }: Decision, { kind }: Outcome): boolean {
  return kind !== 'there' && (kind !== 'unwanted' || removal !== undefined);
}

function namesThere(made: ReadonlyArray<Made>): ReadonlyArray<string> {
  return made.filter(({ outcome }) => outcome.kind === 'there').map(({ name }) => name);
}

function orElse<Answer>(settled: Settled<Answer>, other: Answer): Answer {
  return settled.kind === 'done' ? settled.answer : other;
}

function outcomeOf(settled: Settled<Outcome> | undefined): Outcome {
  if (settled === undefined) return { kind: 'unwanted' };
  return settled.kind === 'done' ? settled.answer : settled;
}

/**
 * By name of the pools that the decision has claims of, without those that have been deleted since. What cannot be read
 * of one pool now is that pool's.
 */
async function partsOf(ports: Ports, { plan }: Decision): Promise<ReadonlyMap<string, Settled<ClaimParts>>> {
  const wanted = new Set(plan.claims.map(({ nodePool }) => nodePool));
  const pools = await ports.kubernetes.list('NodePool');
  const own = pools.filter(({ metadata }) => wanted.has(metadata.name) && metadata.deletionTimestamp === undefined);
  const parts = await eachAlone(own, own.length, async (pool): Promise<ClaimParts> => {
    const nodeClass = await ports.definitions.nodeClass(pool.spec.template.spec.nodeClassRef.name);
    const types = nodeClass === null ? [] : await ports.catalogs.instanceTypes(nodeClass);
    return { pool, nodeClass, types };
  });
  return new Map(parts.map((one, index) => [own[index]?.metadata.name ?? '', one]));
}

async function create(
  ports: Ports,
  decision: Decision,
  planned: PlannedClaim,
  { name, parts }: { readonly name: string; readonly parts: Settled<ClaimParts> | undefined },
): Promise<Outcome> {
  if (parts === undefined) return { kind: 'unwanted' };
  if (parts.kind === 'failed') return parts;
  const object = toNodeClaim(decision.name, planned, { name, currency: ports.catalogs.currency, ...parts.answer });
  const outcome = await ports.kubernetes.create('NodeClaim', object);
  if (outcome.kind === 'refused') return outcome;
  if (outcome.kind === 'exists') return whatIsThere(ports, name);
  const { nodePool, pods } = planned;
  // The one line that has pods by name: from here on the claim's name and the decision's lead to the machine.
  ports.log('nodeclaim-created', { claim: name, nodePool, decision: decision.name, pods: podsText(pods) });
  return { kind: 'there', version: outcome.object.metadata.resourceVersion ?? null };
}

/**
 * On each pool whose claims could not be made, and in the log. What a pool said of an earlier refusal goes where it has
 * its claims now.
 */
async function tellNotMade(ports: Ports, decision: Decision, made: ReadonlyArray<Made>): Promise<void> {
  const { name: by } = decision;
  for (const { name: claim, outcome } of made) {
    if (outcome.kind === 'refused') {
      const { policy, reason } = outcome.refusal;
      ports.log('nodeclaim-refused', { claim, decision: by, policy, reason });
    }
    if (outcome.kind === 'not-made') ports.log('nodeclaim-not-made', { claim, decision: by, why: outcome.why });
    if (outcome.kind === 'failed') ports.log('nodeclaim-not-made', { claim, decision: by, why: outcome.error.message });
  }
  const perPool = [...Map.groupBy(made, ({ nodePool }) => nodePool)];
  await eachAlone(perPool, CREATIONS_AT_ONCE, ([nodePool, own]) => tellPool(ports, nodePool, own));
}

async function tellPool(ports: Ports, nodePool: string, made: ReadonlyArray<Made>): Promise<void> {
  const about = { kind: 'NodePool', key: { name: nodePool, namespace: null } } as const;
  const refused = made.find(({ outcome }) => outcome.kind === 'refused')?.outcome;
  if (refused?.kind === 'refused') return tellDenied(ports, refused.refusal, [about]);
  const pool = made[0]?.parts?.pool ?? null;
  const failed = made.find(({ outcome }) => outcome.kind === 'failed')?.outcome;
  if (failed?.kind === 'failed' && pool !== null) {
    const message = `A NodeClaim could not be created, and its pods will be planned again: ${failed.error.message}`;
    await publish(ports.kubernetes, eventAboutPool(pool, 'Warning', 'NodeClaimNotCreated', message), ports.now());
    // Planned for the same pool again, they would wait as long once more, and so would all others.
    return tellFailing(ports, about, failingBy('To create its NodeClaims', failed.error), DENIED_MS);
  }
  const isThere = made.some(({ outcome }) => outcome.kind === 'there');
  const said = conditionOf(pool?.status?.conditions, WRITE_DENIED);
  if (isThere && said !== undefined) await clearDenied(ports, about);
  return undefined;
}

function whyMissing(missing: ReadonlyArray<Made>): string {
  const [first] = missing;
  const why =
    first?.outcome.kind === 'refused'
      ? first.outcome.refusal.reason
      : first?.outcome.kind === 'failed'
        ? first.outcome.error.message
        : first?.outcome.kind === 'not-made'
          ? first.outcome.why
          : 'its NodePool is gone';
  return `NodeClaim ${first?.name ?? ''} to replace it could not be created: ${why}`;
}

/**
 * Of a decision by which nothing goes: what was made to come in its place is not needed, as long as it has no node, as
 * pods may run there by then. What is not deleted here is used, or goes as empty.
 */
async function takeBack(ports: Ports, made: ReadonlyArray<Made>): Promise<void> {
  const there = made.filter(({ outcome }) => outcome.kind === 'there');
  await eachAlone(there, CREATIONS_AT_ONCE, async ({ name }) => {
    const key = { name, namespace: null };
    const claim = await ports.kubernetes.get('NodeClaim', key);
    if (claim === null || isTrue(claim.status?.conditions, 'Registered')) return;
    const { uid = '' } = claim.metadata;
    const outcome = await ports.kubernetes.delete('NodeClaim', key, { uid });
    if (outcome === 'deleted') ports.log('replacement-taken-back', { claim: name });
  });
}

/**
 * Application Insights cuts a line at 32,768 characters, within a name. A node full of pods whose names are of common
 * lengths has half of that.
 */
const PODS_TEXT_MAX = 30_000;

/** Whole names, `NAMESPACE/NAME` between commas, as many as fit. */
function podsText(pods: PlannedClaim['pods']): string {
  const text = pods.map(({ name }) => name).join(',');
  return text.length <= PODS_TEXT_MAX ? text : text.slice(0, text.lastIndexOf(',', PODS_TEXT_MAX));
}

/**
 * A claim that another executor of the decision created; its version counts as much as that of its creation, which
 * nobody has told the ledger. Nothing goes for the sake of one that has been given up since.
 */
async function whatIsThere(ports: Ports, name: string): Promise<Outcome> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  if (claim?.metadata.deletionTimestamp !== undefined) return { kind: 'not-made', why: 'it is being deleted' };
  return { kind: 'there', version: claim?.metadata.resourceVersion ?? null };
}

/** The highest of the resource versions; null when there is none. */
export function newestOf(versions: ReadonlyArray<string | null>): string | null {
  const known = versions.filter((version) => version !== null).map(BigInt);
  return known.length === 0 ? null : String(known.reduce((a, b) => (a > b ? a : b)));
}
