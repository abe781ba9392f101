import type { Plan, PlannedClaim } from '../core/model/plan.ts';
import type { AuditedPlan } from '../core/recovery/sound-plan.ts';
import { RetryableError, TerminalError } from '../ports/errors.ts';
import { DECISION_VERSION, type Decision, type LedgerState, type Removal } from '../ports/store.ts';
import { digest } from '../contract/digest.ts';
import { annotation } from '../contract/names.ts';
import { claimName } from './derived-name.ts';
import { markForRemoval } from './disrupt/mark.ts';
import type { Gathered } from './gather.ts';
import { moversAmong } from './heirs.ts';
import { hintLaunches } from './hint-objects.ts';
import { inParallel } from './in-parallel.ts';
import type { Ports } from './ports.ts';
import { sharedReservations } from './reservations.ts';
import { type ClaimParts, toNodeClaim, withPoolStamps } from './to-node-claim.ts';

/** NodeClaims created at once. The API server takes about 5 ms each; more would crowd out other clients. */
const CREATIONS_AT_ONCE = 16;

/**
 * Claims that are hinted at together, as soon as they are there: of a large decision the first are launched while the last
 * are being created. Of a small one they are created first, which takes a second or two, as launches ask more of the API
 * server than creations.
 */
const HINTED_TOGETHER = 250;

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly state: LedgerState; readonly decision: Decision }
  /** Another plan was committed since the gathering. What it left, the next look finds. */
  | { readonly kind: 'lost' };

/** Makes an audited plan the latest decision. Safe to repeat from any point of failure. */
export async function commitPlan(
  ports: Ports,
  gathered: Gathered,
  plan: AuditedPlan,
  cause: string,
  removal?: Removal,
): Promise<CommitOutcome> {
  const decision = toDecision(ports, gathered, plan, cause, removal);
  await ports.decisions.put(decision);
  const committed = await ports.ledger.commit(gathered.ledger, decision.name);
  return committed.kind === 'lost' ? { kind: 'lost' } : { kind: 'committed', state: committed.state, decision };
}

/** Decisions of others finished in a row. More means that they commit faster than we read. */
const RESUMES_MAX = 3;

/**
 * A decision is left to its executor until that has not been heard of for so long. It is heard of with every
 * `HINTED_TOGETHER` claims, which an API server that is near its limits takes some seconds for.
 */
const SILENT_MS = 8_000;

/** The ledger as a plan may be based on, or the time until which somebody is still executing its latest decision. */
export type Resumed =
  { readonly kind: 'ready'; readonly ledger: LedgerState } | { readonly kind: 'executing'; readonly untilMs: number };

/**
 * The ledger with its latest decision executed, or the news that this is being done. A decision whose executor has had its
 * time is finished first: planned beside its claims while they are being created, its pods would get others.
 */
export async function resume(ports: Ports): Promise<Resumed> {
  const ledger = await ports.ledger.read();
  if (ledger.executed || ledger.decision === null) return { kind: 'ready', ledger };
  const untilMs = (ledger.heardAtMs ?? 0) + SILENT_MS;
  return ports.now() < untilMs ? { kind: 'executing', untilMs } : { kind: 'ready', ledger: await resumeNow(ports) };
}

/** As `resume`, for who cannot wait: what two execute is executed once, with some requests for nothing. */
export async function resumeNow(ports: Ports): Promise<LedgerState> {
  for (let attempt = 0; attempt < RESUMES_MAX; attempt++) {
    // Each look depends on what the last one finished.
    // oxlint-disable-next-line no-await-in-loop
    const state = await ports.ledger.read();
    if (state.executed || state.decision === null) return state;
    // oxlint-disable-next-line no-await-in-loop
    const decision = await ports.decisions.get(state.decision);
    if (decision === null) throw new TerminalError(`decision ${state.decision} is committed but its record is missing`);
    ports.log('decision-resumed', { decision: decision.name });
    // oxlint-disable-next-line no-await-in-loop
    await execute(ports, state, decision);
  }
  throw new RetryableError(`${RESUMES_MAX} decisions were committed meanwhile`, { retryAfterMs: 500 });
}

/** The plan as the record that is committed: stamped, and named by its content, so that nothing else has that name. */
export function toDecision(ports: Ports, gathered: Gathered, plan: Plan, cause: string, removal?: Removal): Decision {
  const generation = gathered.ledger.generation + 1;
  const { version } = gathered.snapshot;
  const stamped = {
    ...plan,
    claims: plan.claims.map((claim) => withReason(withPoolStamps(claim, gathered.input.cluster.nodePools), removal)),
  };
  // The content is part of the name, so that another instance planning at the same generation writes another record.
  const name = `${String(generation).padStart(9, '0')}-${digest(version, JSON.stringify(stamped), ...(removal === undefined ? [] : [JSON.stringify(removal)]))}`;
  const planned = new Set(plan.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const movers = moversAmong(gathered.snapshot, planned);
  const claimNames = plan.claims.map(({ nodePool }, index) => claimName(nodePool, name, index));
  const reservations = sharedReservations(gathered.snapshot, plan, claimNames, name);
  return {
    version: DECISION_VERSION,
    name,
    generation,
    cause,
    snapshotVersion: version,
    atMs: ports.now(),
    claimNames,
    plan: stamped,
    ...(reservations === null ? {} : { reservations }),
    ...(removal === undefined ? {} : { removal }),
    ...(movers.length === 0 ? {} : { movers }),
  };
}

/** What comes in place of nodes that go says for which reason they do. */
function withReason(planned: PlannedClaim, removal: Removal | undefined): PlannedClaim {
  if (removal === undefined) return planned;
  return { ...planned, annotations: { ...planned.annotations, [annotation.createdFor]: removal.reason } };
}

/** Creates the NodeClaims of a committed decision, sends hints to launch them, and marks what is to go. Twice is as once. */
export async function execute(ports: Ports, committed: LedgerState, decision: Decision): Promise<void> {
  let state = committed;
  const partsByPool = await partsOf(ports, decision);
  const numbered = decision.plan.claims.map((planned, index) => ({ planned, name: decision.claimNames[index] ?? '' }));
  const versions: Array<string | null> = [];
  let hinted = Promise.resolve();
  for (let start = 0; start < numbered.length; start += HINTED_TOGETHER) {
    const together = numbered.slice(start, start + HINTED_TOGETHER);
    const creating = inParallel(together, CREATIONS_AT_ONCE, async ({ planned, name }) => {
      const parts = partsByPool.get(planned.nodePool);
      return parts === undefined ? null : createClaim(ports, decision, planned, { name, ...parts });
    });
    // The hints of the claims before travel while these are created.
    const goingOn = start === 0 ? state : ports.ledger.goOn(state);
    // oxlint-disable-next-line no-await-in-loop
    const [created, , heard] = await Promise.all([creating, hinted, goingOn]);
    versions.push(...created);
    state = heard;
    const there = together.filter((_, index) => created[index] !== null);
    hinted = hintLaunches(
      ports,
      there.map(({ name }) => name),
    );
  }
  await hinted;
  // Whoever decides next must see the marks: they count as what the decision has written.
  const marked = await markForRemoval(ports, decision);
  await ports.ledger.markExecuted(state, newest([...versions, ...marked]));
}

/**
 * By name of the pools that the decision has claims of. A pool deleted since then wants no more nodes; its pods are planned again
 * elsewhere.
 */
async function partsOf(ports: Ports, { plan }: Decision): Promise<ReadonlyMap<string, ClaimParts>> {
  const wanted = new Set(plan.claims.map(({ nodePool }) => nodePool));
  const pools = await ports.kubernetes.list('NodePool');
  const own = pools.filter(({ metadata }) => wanted.has(metadata.name) && metadata.deletionTimestamp === undefined);
  return new Map(
    await Promise.all(
      own.map(async (pool) => {
        const nodeClass = await ports.definitions.nodeClass(pool.spec.template.spec.nodeClassRef.name);
        const types = nodeClass === null ? [] : await ports.catalogs.instanceTypes(nodeClass);
        return [pool.metadata.name, { pool, nodeClass, types }] as const;
      }),
    ),
  );
}

async function createClaim(
  ports: Ports,
  decision: Decision,
  planned: PlannedClaim,
  target: ClaimParts & { readonly name: string },
): Promise<string | null> {
  const outcome = await ports.kubernetes.create('NodeClaim', toNodeClaim(decision.name, planned, target));
  if (outcome.kind === 'created') {
    const { nodePool, pods } = planned;
    // The one line that has pods by name: from here on the claim's name and the decision's lead to the machine.
    ports.log('nodeclaim-created', { claim: target.name, nodePool, decision: decision.name, pods: podsText(pods) });
    return outcome.object.metadata.resourceVersion ?? null;
  }
  if (outcome.kind === 'exists') return (await versionOf(ports, target.name)) ?? null;
  // The API server's own rules refuse what we made: a bug, told where people look.
  ports.log('nodeclaim-refused', { claim: target.name, decision: decision.name, reason: outcome.reason });
  return null;
}

/** Application Insights cuts a line at 32,768 characters, within a name. A node full of pods whose names are of common lengths has half of that. */
const PODS_TEXT_MAX = 30_000;

/** Whole names, `NAMESPACE/NAME` between commas, as many as fit. */
function podsText(pods: PlannedClaim['pods']): string {
  const text = pods.map(({ name }) => name).join(',');
  return text.length <= PODS_TEXT_MAX ? text : text.slice(0, text.lastIndexOf(',', PODS_TEXT_MAX));
}

/** Of a claim that another executor of the decision created: as much as its creation's, which nobody has told the ledger. */
async function versionOf(ports: Ports, name: string): Promise<string | undefined> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  return claim?.metadata.resourceVersion;
}

/** The highest of the resource versions; null when no claim is there. */
function newest(versions: ReadonlyArray<string | null>): string | null {
  const known = versions.filter((version) => version !== null).map(BigInt);
  return known.length === 0 ? null : String(known.reduce((a, b) => (a > b ? a : b)));
}
