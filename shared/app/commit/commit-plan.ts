import type { Plan, PlannedClaim } from '../../core/model/plan.ts';
import type { AuditedStep } from '../../core/disruption/sound-disruption.ts';
import type { AuditedPlan } from '../../core/recovery/sound-plan.ts';
import { RetryableError } from '../../ports/errors.ts';
import { DECISION_VERSION, type Decision, type LedgerState, type Removal, type Withdrawn } from '../../ports/store.ts';
import { digest } from '../../contract/digest.ts';
import { annotation } from '../../contract/names.ts';
import { crowdsFor } from '../gather/crowds.ts';
import { claimName } from '../facts/derived-name.ts';
import { execute, newestOf } from '../execute/execute.ts';
import type { Gathered } from '../gather/gather.ts';
import { moversAmong } from '../gather/movers/heirs.ts';
import { withNotices } from '../facts/replacing.ts';
import { knownDecision } from '../gather/known-decision.ts';
import type { Ports } from '../ports/ports.ts';
import { sharedDedications } from '../gather/dedications.ts';
import { withPoolStamps } from '../claims/to-node-claim.ts';

export type CommitOutcome =
  | { readonly kind: 'committed'; readonly state: LedgerState; readonly decision: Decision }
  /** Another plan was committed since the gathering. What it left, the next look finds. */
  | { readonly kind: 'lost' };

/** What a decision removes: a step that the audit of disruption has let through, and the claims of its nodes. */
export interface Removing {
  readonly step: AuditedStep;
  readonly claims: Removal['claims'];
}

/** What a decision buys for nodes that another one removes: for which reason they go. */
export interface BuyingFor {
  readonly createdFor: string;
}

/** Claims that a decision withdraws, as its plan, which is made without them, has a place for everybody. */
export interface Withdrawing {
  readonly withdrawn: ReadonlyArray<Withdrawn>;
}

/** What a decision is to do beside its plan, and why its claims are made. */
interface Purpose extends Partial<Withdrawing> {
  readonly removal?: Removal;
  readonly createdFor?: string;
}

function toPurpose(about: Removing | BuyingFor | Withdrawing | undefined): Purpose {
  if (about === undefined || !('step' in about)) return about ?? {};
  const { reason } = about.step;
  return { removal: { reason, claims: about.claims }, createdFor: reason };
}

/** Makes an audited plan the latest decision. Safe to repeat from any point of failure. */
export async function commitPlan(
  ports: Ports,
  gathered: Gathered,
  plan: AuditedPlan,
  cause: string,
  about?: Removing | BuyingFor | Withdrawing,
): Promise<CommitOutcome> {
  const decision = toDecision(ports, gathered, plan, cause, toPurpose(about));
  await ports.decisions.put(decision);
  const committed = await ports.ledger.commit(gathered.ledger, decision.name);
  return committed.kind === 'lost' ? { kind: 'lost' } : { kind: 'committed', state: committed.state, decision };
}

/** Decisions of others finished in a row. More means that they commit faster than we read. */
const RESUMES_MAX = 3;

/**
 * A decision is left to its executor until that has not been heard of for so long. It is heard of with every 250
 * claims, which an API server that is near its limits takes some seconds for.
 */
const SILENT_MS = 8_000;

/** The ledger as a plan may be based on, or the time until which somebody is still executing its latest decision. */
export type Resumed =
  { readonly kind: 'ready'; readonly ledger: LedgerState } | { readonly kind: 'executing'; readonly untilMs: number };

/**
 * The ledger with its latest decision executed, or the news that this is being done. A decision whose executor has had
 * its time is finished first: planned beside its claims while they are being created, its pods would get others.
 */
export async function resume(ports: Ports): Promise<Resumed> {
  const ledger = await ports.ledger.read();
  if (ledger.executed || ledger.decision === null) return { kind: 'ready', ledger };
  const untilMs = (ledger.heardAtMs ?? 0) + SILENT_MS;
  const leftMs = untilMs - ports.now();
  // The executor's clock said when it was heard of: of one that is ahead and has died nobody would hear for as long.
  const isAtIt = leftMs > 0 && leftMs <= 2 * SILENT_MS;
  return isAtIt ? { kind: 'executing', untilMs } : { kind: 'ready', ledger: await resumeNow(ports) };
}

/** As `resume`, for who cannot wait: what two execute is executed once, with some requests for nothing. */
export async function resumeNow(ports: Ports): Promise<LedgerState> {
  for (let attempt = 0; attempt < RESUMES_MAX; attempt++) {
    // Each look depends on what the last one finished.
    const state = await ports.ledger.read();
    if (state.executed || state.decision === null) return state;
    const decision = await knownDecision(ports, state.decision);
    if (decision !== null) ports.log('decision-resumed', { decision: decision.name });
    await (decision === null ? passOver(ports, state) : execute(ports, state, decision));
  }
  throw new RetryableError(`${RESUMES_MAX} decisions were committed meanwhile`, { retryAfterMs: 500 });
}

/**
 * Ends a decision whose record is gone, or can be read by nobody: what it has done stands, and its pods are planned for
 * again. Claims that it has created are among those that the next plan must know.
 */
async function passOver(ports: Ports, state: LedgerState): Promise<void> {
  const claims = await ports.kubernetes.list('NodeClaim');
  await ports.ledger.markExecuted(state, newestOf(claims.map(({ metadata }) => metadata.resourceVersion ?? null)));
  ports.log('decision-passed-over', { decision: state.decision, claims: claims.length });
}

/** The plan as the record that is committed: stamped, and named by its content, so that nothing else has that name. */
export function toDecision(
  ports: Ports,
  gathered: Gathered,
  plan: Plan,
  cause: string,
  { removal, createdFor, withdrawn }: Purpose = {},
): Decision {
  const generation = gathered.ledger.generation + 1;
  const { version } = gathered.snapshot;
  const stamped = {
    ...plan,
    claims: withNotices(gathered.snapshot, plan.claims).map((claim) =>
      withReason(withPoolStamps(claim, gathered.input.cluster.nodePools), createdFor),
    ),
  };
  // The content is part of the name, so that another instance planning at the same generation writes another record.
  const beside = [removal, withdrawn].flatMap((one) => (one === undefined ? [] : [JSON.stringify(one)]));
  const name = `${String(generation).padStart(9, '0')}-${digest(version, JSON.stringify(stamped), ...beside)}`;
  const planned = new Set(plan.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const movers = moversAmong(gathered.snapshot, planned);
  const crowds = createdFor === undefined ? [] : crowdsFor(gathered.snapshot, gathered.input.crowds);
  const claimNames = plan.claims.map(({ nodePool }, index) => claimName(nodePool, name, index));
  const reservations = sharedDedications(gathered.snapshot, plan, claimNames, name);
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
    ...(withdrawn === undefined ? {} : { withdrawn }),
    ...(movers.length === 0 ? {} : { movers }),
    ...(crowds.length === 0 ? {} : { crowds }),
  };
}

/** What comes in place of nodes that go says for which reason they do. */
function withReason(planned: PlannedClaim, createdFor: string | undefined): PlannedClaim {
  if (createdFor === undefined) return planned;
  return { ...planned, annotations: { ...planned.annotations, [annotation.createdFor]: createdFor } };
}
