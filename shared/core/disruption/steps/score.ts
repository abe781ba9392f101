import type { Arena, Slot } from '../search/arena.ts';

/** What all nodes of a pool cost, and what it would count as to disrupt them all. */
export interface PoolTotals {
  /** Those that budgets count: in use by now, or once they have come. */
  readonly nodes: number;
  readonly cost: number;
  readonly disruption: number;
}

/**
 * A Balanced pool approves what saves at least half as large a share of its cost as it disrupts of it. Karpenter's k is
 * 2.
 */
export const LEAST_SCORE = 0.5;

/** The totals of every pool as the arena stands. */
export function poolTotals({ slots }: Arena): ReadonlyMap<string, PoolTotals> {
  const totals = new Map<string, PoolTotals>();
  for (const slot of slots) {
    const { pool } = slot;
    // A new one that no pod has come to is not created yet.
    if (pool === null || slot.state !== 'there' || (slot.offering !== null && slot.received === 0)) continue;
    const { nodes, cost, disruption } = totals.get(pool) ?? { nodes: 0, cost: 0, disruption: 0 };
    totals.set(pool, {
      nodes: nodes + (slot.node === null || slot.room.capacity.initialized ? 1 : 0),
      cost: cost + plainPriceOf(slot),
      disruption: disruption + disruptionOf(slot),
    });
  }
  return totals;
}

function disruptionOf({ node, receivedCost }: Slot): number {
  return (node?.disruption ?? 1) + receivedCost;
}

/** What is saved as a share of the pool's cost, over what is disrupted as a share of all that could be. */
export function scoreOf(saved: number, slots: ReadonlyArray<Slot>, { cost, disruption }: PoolTotals): number {
  if (saved <= 0 || cost === 0 || disruption === 0) return 0;
  const disrupted = slots.reduce((sum, slot) => sum + (slot.node?.disruption ?? 1), 0);
  return saved / cost / (disrupted / disruption);
}

/** What Azure asks for it; nothing where that is not known. */
export function plainPriceOf({ node, offering }: Slot): number {
  return node?.price?.plain ?? offering?.plainPrice ?? 0;
}

/** ... for all of them. */
export function plainCostOf(slots: ReadonlyArray<Slot>): number {
  return slots.reduce((sum, slot) => sum + plainPriceOf(slot), 0);
}
