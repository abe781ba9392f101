import { label } from '../../contract/names.ts';
import { nodeBudgets, type NodeBudgets } from '../../core/disruption/candidates/node-budgets.ts';
import { isVoluntary } from '../../core/disruption/plan/disruption-reason.ts';
import type { Candidate } from '../../core/disruption/second-look/begun.ts';
import { instant } from '../../core/quantity/units.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { isTrue } from '../facts/conditions.ts';
import { alone, inParallel } from '../ports/in-parallel.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';

/** A node that is to go, and why as it was judged now: it may have grown old, or sick, since it was marked. */
export interface Going {
  readonly candidate: Candidate;
  readonly reason: string;
  /** When its set was marked, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** Nodes that go, and those that stay for now, with the reason for people. */
export interface WithinBudgets {
  readonly going: ReadonlyArray<Going>;
  readonly held: ReadonlyArray<{ readonly one: Going; readonly why: string }>;
}

/** What is known of a pool at this moment. */
interface PoolNow {
  /** Nodes in use. */
  readonly nodes: number;
  readonly budgets: NodeBudgets | null;
  /** Why nothing is known: then none of its nodes goes for a reason that asks. */
  readonly unread: string | null;
}

/**
 * Which sets of nodes the budgets of their NodePools let go at this moment. Budgets and NodeClaims are read from the
 * API server, as what was judged may be old, or forged: of a pool's nodes in use those that are being deleted count,
 * and the sets before. All of a set go or none. What must go whatever budgets say is not counted, and nothing is read
 * for it; a pool that cannot be read holds its own nodes only.
 */
export async function withinBudgetsNow(
  ports: Pick<Ports, 'kubernetes' | 'now'>,
  sets: ReadonlyArray<ReadonlyArray<Going>>,
): Promise<WithinBudgets> {
  const asking = new Set(sets.flat().filter(asksBudgets).map(poolOf));
  if (asking.size === 0) return { going: sets.flat(), held: [] };
  const { pools, leaving } = await readNow(ports, asking);
  const leftIn = (one: Going): number => {
    const { nodes, budgets } = pools.get(poolOf(one)) ?? NOTHING_SAID;
    return (budgets?.allowed(one.reason, nodes) ?? Infinity) - (leaving.get(poolOf(one)) ?? 0);
  };
  const outcome = { going: new Array<Going>(), held: new Array<WithinBudgets['held'][number]>() };
  for (const set of sets) {
    const perPool = Map.groupBy(set.filter(asksBudgets), poolOf);
    const unread = [...perPool.keys()].flatMap((name) => pools.get(name)?.unread ?? [])[0];
    const over = [...perPool].find(([, some]) => some.some((one) => leftIn(one) < some.length))?.[0];
    if (unread === undefined && over === undefined) {
      outcome.going.push(...set);
      for (const [pool, some] of perPool) leaving.set(pool, (leaving.get(pool) ?? 0) + some.length);
    } else {
      const why = unread ?? `budgets of NodePool ${over ?? ''} allow fewer removals right now`;
      outcome.held.push(...set.map((one) => ({ one, why })));
    }
  }
  return outcome;
}

const NOTHING_SAID: PoolNow = { nodes: 0, budgets: null, unread: null };

async function readNow(
  { kubernetes, now }: Pick<Ports, 'kubernetes' | 'now'>,
  names: ReadonlySet<string>,
): Promise<{ readonly pools: ReadonlyMap<string, PoolNow>; readonly leaving: Map<string, number> }> {
  const listed = await alone(() => kubernetes.list('NodeClaim'));
  const counted = listed.kind === 'done' ? listed.answer.filter(isCounted) : [];
  const gone = await withoutNode(kubernetes, counted.filter(isLeaving));
  const claims = counted.filter((claim) => !gone.has(claim));
  const own = Map.groupBy(claims, ({ metadata }) => metadata.labels?.[label.nodePool] ?? '');
  const read = await Promise.all(
    Array.from(names, async (name) => {
      const pool = await alone(() => kubernetes.get('NodePool', { name, namespace: null }));
      const failed = [listed, pool].find((one) => one.kind === 'failed');
      const budgets = pool.kind === 'done' && pool.answer !== null ? nodeBudgets(pool.answer, instant(now())) : null;
      const unread =
        failed?.kind === 'failed' ? `budgets of NodePool ${name} cannot be read: ${failed.error.message}` : null;
      return [name, { nodes: own.get(name)?.length ?? 0, budgets, unread }] as const;
    }),
  );
  const leaving = new Map([...own].map(([pool, all]) => [pool, all.filter(isLeaving).length]));
  return { pools: new Map(read), leaving };
}

/** Nodes asked for at once. */
const ASKED_AT_ONCE = 16;

/**
 * Of claims that are being deleted those whose Node has gone: a policy may keep the claim itself for ever. One that
 * cannot be asked for is taken to be there.
 */
async function withoutNode(
  kubernetes: Ports['kubernetes'],
  claims: ReadonlyArray<NodeClaim>,
): Promise<ReadonlySet<NodeClaim>> {
  const found = await inParallel(claims, ASKED_AT_ONCE, async (claim) => {
    const node = await alone(() => kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null }));
    return node.kind === 'done' && node.answer === null ? claim : null;
  });
  return new Set(found.filter((claim) => claim !== null));
}

function isLeaving({ metadata }: NodeClaim): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** A node of no pool has no budgets. */
function asksBudgets(one: Going): boolean {
  return isVoluntary(one.reason) && poolOf(one) !== '';
}

function poolOf({ candidate }: Going): string {
  return poolOfNode(candidate);
}

/** As the second look has it, by its node; empty for a node of none. */
export function poolOfNode({ claim, node }: Candidate): string {
  return node.metadata.labels?.[label.nodePool] ?? claim.metadata.labels?.[label.nodePool] ?? '';
}

/** What budgets count: nodes that are in use until their machine is being removed, or the Node is no more. */
function isCounted({ status }: NodeClaim): boolean {
  return isTrue(status?.conditions, 'Initialized') && !isTrue(status?.conditions, 'InstanceTerminating');
}
