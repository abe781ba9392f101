import type { DisruptionReason } from '../core/disruption/plan/disruption-reason.ts';
import type { DeviceTemplates } from '../core/model/device-templates.ts';
import type { Plan } from '../core/model/plan.ts';
import type { DisruptionLook } from '../contract/figures/disruption-figures.ts';
import type { PlanFate, PlanFigures } from '../contract/figures/plan-figures.ts';
import type { Snapshot } from '../contract/snapshot/parse.ts';

/** 2: reasons are of closed kinds, and claims say which cheaper offerings were refused. */
export const DECISION_VERSION = 2;

/** A plan as it was committed, with the names its claims got. Written once, never changed. */
export interface Decision {
  /** Of the record's form. Records of 1, which had no such field, are read too. */
  readonly version: typeof DECISION_VERSION;
  readonly name: string;
  readonly generation: number;
  readonly cause: string;
  readonly snapshotVersion: string;
  readonly atMs: number;
  /** In the order of `plan.claims`. */
  readonly claimNames: ReadonlyArray<string>;
  readonly plan: Plan;
  /**
   * By what value each claim's node is kept for its pods, in the order of `plan.claims`; absent: each by the claim's
   * name.
   */
  readonly reservations?: ReadonlyArray<string>;
  /** The nodes to remove, if the decision removes any. */
  readonly removal?: Removal;
  /** NodeClaims to delete that have no node yet, and that nobody waits for any more. */
  readonly withdrawn?: ReadonlyArray<Withdrawn>;
  /** The pods of `plan.claims` that do not come themselves. */
  readonly movers?: ReadonlyArray<Mover>;
  /**
   * Pods that spread over hosts, some of which come when the nodes to go have gone: as planned for in
   * `ProvisioningInput.crowds`.
   */
  readonly crowds?: ReadonlyArray<Crowd>;
}

/** So many pods may be on one host, as many as on one that goes. Owner and shape as of a mover. */
export interface Crowd {
  readonly owner: string;
  readonly shape: string;
  readonly most: number;
}

/**
 * A pod that ran somewhere else when a claim was planned for it: it is evicted there, and a successor comes in its
 * place.
 */
export interface Mover {
  readonly uid: string;
  /** Uid of its owner, which makes the successor. */
  readonly owner: string;
  /** Tells pods of one template from others of the owner. */
  readonly shape: string;
  /** Is it known how many pods the owner wants? Once it is not in a snapshot any more it wants none. */
  readonly isCounted?: boolean;
}

/** Nodes that go together: they are marked when the decision is executed, and judged once more before they go. */
export interface Removal {
  readonly reason: DisruptionReason;
  readonly claims: ReadonlyArray<{ readonly name: string; readonly uid: string; readonly node: string }>;
}

/** A NodeClaim that nobody waits for. */
export interface Withdrawn {
  readonly name: string;
  readonly uid: string;
}

export interface Decisions {
  /** Idempotent: the same name always carries the same content. */
  put(decision: Decision): Promise<void>;
  /**
   * Null when there is none. Throws UnreadableError for a record that is damaged, or that a later version of us has
   * written.
   */
  get(name: string): Promise<Decision | null>;
}

/** What nodes published that may be gone by now: a pool that has scaled to zero is still known. */
export interface DeviceMemory {
  read(): Promise<DeviceTemplates>;
  /** Replaces what was read last. Lost without a word when another instance wrote since: it saw the same nodes. */
  write(templates: DeviceTemplates): Promise<void>;
}

/** The figures of plans, for the relay's metrics. Nothing here decides by them. */
export interface FiguresLog {
  /** Counts a plan, once however often it is said. `crowded`: others wrote all the time, and it was not counted. */
  add(plan: PlanFigures, fate: PlanFate): Promise<'added' | 'crowded'>;
  /** The same for a look at which nodes can go. Nothing is written where it says nothing new. */
  addLook(look: DisruptionLook): Promise<'added' | 'crowded'>;
}

/** The compare-and-set counter that orders plans. */
export interface LedgerState {
  readonly generation: number;
  /** The latest decision's name; null before the first. */
  readonly decision: string | null;
  /** True when every claim of the latest decision has been created. */
  readonly executed: boolean;
  /**
   * When the latest decision was committed or its executor was last heard of, milliseconds since the epoch; once it
   * has been executed, when that was. Null before the first.
   */
  readonly heardAtMs: number | null;
  /** A snapshot whose NodeClaims are at least this fresh knows the claims of all decisions. Null before the first. */
  readonly claimsResourceVersion: string | null;
  /** What makes the next write conditional. */
  readonly token: string | null;
}

export interface Ledger {
  read(): Promise<LedgerState>;
  /** Makes `decision` the latest, if nobody has committed since `base` was read. */
  commit(
    base: LedgerState,
    decision: string,
  ): Promise<{ readonly kind: 'committed'; readonly state: LedgerState } | { readonly kind: 'lost' }>;
  /** Tells that the latest decision is still being executed. Losing the race to another executor is harmless. */
  goOn(state: LedgerState): Promise<LedgerState>;
  /**
   * Notes that the latest decision's claims exist, as of now. Losing the race is harmless: the winner noted the same or
   * later.
   */
  markExecuted(state: LedgerState, claimsResourceVersion: string | null): Promise<void>;
}

export interface Snapshots {
  /**
   * The newest published snapshot; null when there is none. Throws UnreadableError for one that is damaged, or of
   * another version of us.
   */
  latest(): Promise<Snapshot | null>;
  /** When the relay last said that it is alive, milliseconds since the epoch; null when never. */
  heartbeatMs(): Promise<number | null>;
  /**
   * Up to when the relay has last said that the snapshot of this version lacks nothing it had seen, milliseconds since
   * the epoch; null where its last word was about another.
   */
  heldMs(version: string): Promise<number | null>;
  /** Reads the API server itself and builds the same image, for when no relay does. */
  list(): Promise<Snapshot>;
}
