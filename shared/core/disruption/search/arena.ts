import type { Need } from '../../placing/state/compile-shape.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import type { Workspace } from '../../placing/state/workspace.ts';
import type { JudgedNode } from '../candidates/judged-node.ts';
import type { PoolOffering } from './pool-offerings.ts';

/** Pods of one shape on one node. */
export interface Group {
  readonly shape: number;
  readonly count: number;
}

/** Pods of one shape that go from a node to a slot. */
export interface Move {
  readonly target: number;
  readonly shape: number;
  readonly count: number;
}

/**
 * A node that is there, or one that the plan may create. It changes as the search goes; `slots.ts` alone changes it.
 */
export interface Slot {
  readonly index: number;
  /** A new one is of another offering, and so has other room, until the search settles. */
  readonly room: ExistingNode;
  /** Null for a new one. */
  readonly node: JudgedNode | null;
  /** Null for a node that is there. */
  readonly offering: PoolOffering | null;
  /** In micro-USD per hour, risk included. 0 where it does not matter, since the node stays. */
  readonly price: number;
  /** What it counts as to disrupt it, in the same. */
  readonly disruptionCost: number;
  /** The NodePool, of ours. */
  readonly pool: string | null;
  readonly state: 'there' | 'gone' | 'absent';
  /** May the search take it away? */
  readonly isCandidate: boolean;
  readonly takesPods: boolean;
  /** It has no pods and will be removed as empty when its time has come: what goes for money moves nobody there. */
  readonly goesByItself: boolean;
  /** Its own pods that move when it goes: the largest first. */
  readonly own: ReadonlyArray<Group>;
  /** The others that topology counts: they go with it. */
  readonly bound: ReadonlyArray<Group>;
  /** Pods that have come. */
  readonly received: number;
  /** What their evictions would count as. */
  readonly receivedCost: number;
  /** Of a new one: how many pods it has of each shape; null for a node that is there. */
  readonly content: ReadonlyMap<number, number> | null;
  /** Slots that pods have come from, by index. */
  readonly sources: ReadonlySet<number>;
  /** Where its own pods went. */
  readonly moves: ReadonlyArray<Move>;
  /** When it was taken away: the order in which the rules allowed it. */
  readonly takenAt: number;
  /** The lower, the sooner it takes pods: candidates that save much for their pods come last. */
  readonly reluctance: number;
}

/** What pods of a shape need, and whether topology looks at them. */
export interface ShapeFacts {
  readonly needs: ReadonlyArray<Need>;
  /** The last of them: of a pod that has given up all that it prefers. */
  readonly least: Need;
  readonly requests: Float64Array;
  readonly isRuled: boolean;
  /** How much of the cluster's free room a pod takes. Those with rules are placed first, as they are choosier. */
  readonly size: number;
  /** What the eviction of one counts as, not below 0. */
  readonly cost: number;
  /** Its ports or attached volumes make pods of one shape unlike. */
  readonly isSingle: boolean;
}

/** What is known of a shape. Throws where no pod of it moves, which is a fault of ours. */
export function factsOf({ shapes }: Pick<Arena, 'shapes'>, shape: number): ShapeFacts {
  const facts = shapes.get(shape);
  if (facts === undefined) throw new Error(`no pod of shape ${shape} moves`);
  return facts;
}

/** What the pods of nodes that go need of a new one, and what they take together. */
export interface OwnPods {
  readonly needs: ReadonlySet<Need>;
  readonly load: Float64Array;
}

/**
 * The slots that take pods, in the order in which pods try them: fullest first, candidates last. Kept from pod to pod,
 * so that in a large cluster a pod need not look at every slot. Brought up to date when it is asked: `fullest-first.ts`
 * does that.
 */
export interface Order {
  /** Indices of slots, sorted by key, then by index; so many of them. */
  sorted: Int32Array;
  count: number;
  /** By index of slot: where it is sorted in; NaN where it is not. */
  keys: Float64Array;
  /** By index of slot and resource: what is free there. */
  free: Float64Array;
  /** Changed since it was last brought up to date. */
  readonly changed: Set<Slot>;
  /** Has any slot ever had less than nothing of a resource? Then what it has in all says nothing of what fits. */
  hasDebt: boolean;
}

/** The whole cluster while the search moves pods in it. */
export interface Arena {
  readonly workspace: Workspace;
  readonly slots: Array<Slot>;
  /** So many of the slots are nodes that are there; new ones come after them. */
  existing: number;
  /** By index of shape. */
  readonly shapes: ReadonlyMap<number, ShapeFacts>;
  /**
   * By kind of need, for nodes that are there: per slot 0 for not asked yet, 1 for yes, 2 for no. For new ones by
   * offering.
   */
  readonly admitted: {
    readonly there: Map<string, Uint8Array>;
    readonly fresh: Map<PoolOffering, Map<string, boolean>>;
  };
  /** By what offerings of all pools would do: one need for all that are alike in it. By need too, once asked for. */
  readonly standIns: Map<string | Need, Need>;
  /** What the own pods of nodes need of a new one, once asked for. */
  readonly ownPods: Map<Slot, OwnPods>;
  /** What one unit of each resource is worth, so that leftovers can be compared. */
  readonly worth: Float64Array;
  /** Work left: slots looked at for a pod. */
  readonly work: { left: number };
  /** Whoever changes a slot says so there: `touch`. */
  readonly order: Order;
}
