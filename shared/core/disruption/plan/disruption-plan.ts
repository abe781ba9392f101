import type { CapacityType } from '../../model/catalog.ts';
import type { MicroUsdPerHour } from '../../quantity/units.ts';
import type { KeptReason } from './kept-reason.ts';
import type { DisruptionReason } from './disruption-reason.ts';

/** The reasons for which a node goes whatever it saves and whatever its replacement costs. */
export const FORCED_REASONS: ReadonlySet<string> = new Set<DisruptionReason>([
  'Drifted',
  'Expired',
  'Unhealthy',
  'StaticSurplus',
]);

/**
 * The reasons for which a node is replaced one for one: pods that it holds back by their spread over hosts come once it
 * has gone.
 */
export const WAITED_FOR: ReadonlySet<string> = new Set<DisruptionReason>(['Drifted', 'Expired', 'Unhealthy']);

/** A node that the plan creates before it empties others. */
export interface PlannedReplacement {
  readonly name: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  /** Absent but for nodes of a reservation. */
  readonly reservationId?: string;
  /** What Azure asks. */
  readonly price: MicroUsdPerHour;
}

/** One pod that leaves a node, and where it goes. */
export interface PlannedMove {
  /** `namespace/name`. */
  readonly pod: string;
  readonly uid: string;
  readonly from: string;
  /** `claim`: a node that this step or one before it creates. */
  readonly to: { readonly kind: 'node' | 'claim'; readonly name: string };
}

/**
 * What happens together: new nodes come, the pods of the nodes to remove leave, they arrive, the nodes go. Each step
 * begins when the one before has ended.
 */
export interface DisruptionStep {
  readonly reason: DisruptionReason;
  /** Names of nodes. */
  readonly remove: ReadonlyArray<string>;
  /** Names of replacements. */
  readonly create: ReadonlyArray<string>;
  readonly moves: ReadonlyArray<PlannedMove>;
  /** What the nodes that go cost less those that come: below 0 only where a node must go whatever it costs. */
  readonly saved: number;
}

/** A node that stays, and why. */
export interface KeptNode {
  readonly node: string;
  readonly nodePool: string | null;
  readonly reason: KeptReason;
}

/** The nodes of NodePools together. */
export interface ClusterCost {
  readonly nodes: number;
  readonly cost: MicroUsdPerHour;
}

/** Which nodes go, in which steps, and why all others stay. Complete: carrying it out leaves no choice open. */
export interface DisruptionPlan {
  readonly steps: ReadonlyArray<DisruptionStep>;
  readonly replacements: ReadonlyArray<PlannedReplacement>;
  /** All nodes that no step removes, by name. */
  readonly kept: ReadonlyArray<KeptNode>;
  /** How many nodes might go, by reason: those of the steps, and those that stay only for what the search found. */
  readonly eligible: Readonly<Partial<Record<DisruptionReason, number>>>;
  readonly before: ClusterCost;
  readonly after: ClusterCost;
  /** No end that keeps the rules costs less; 0 when nothing better is known. */
  readonly lowerBound: MicroUsdPerHour;
}
