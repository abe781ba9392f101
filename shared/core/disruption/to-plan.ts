import { microUsdPerHour, type MicroUsdPerHour } from '../quantity/units.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import type { JudgedNode } from './candidates/judged-node.ts';
import type { ClusterCost, DisruptionPlan, DisruptionStep, PlannedMove } from './plan/disruption-plan.ts';
import type { DisruptionReason } from './plan/disruption-reason.ts';
import { keptReasons } from './kept-nodes.ts';
import type { Slot } from './search/arena.ts';
import type { Ends } from './steps/ends.ts';
import type { Replay } from './steps/replay.ts';
import type { RawStep, Sequence } from './steps/sequence.ts';

interface Parts {
  readonly nodes: ReadonlyArray<JudgedNode>;
  readonly ends: Ends;
  readonly replay: Replay;
  readonly ordered: Sequence;
  readonly lowerBound: MicroUsdPerHour;
}

/** The plan, told as data. */
export function toPlan({ nodes, ends, replay, ordered, lowerBound }: Parts): DisruptionPlan {
  const names = new Map([...replay.created].map(([name, slot]) => [slot, name]));
  const steps = ordered.steps.map((step) => toStep(step, ends, names, replay));
  const made = new Set(steps.flatMap(({ create }) => create));
  const replacements = [...ends.created.values()].filter(({ name }) => made.has(name));
  const removed = new Set(steps.flatMap(({ remove }) => remove));
  const reasons = keptReasons(replay.arena, new Set(ordered.dropped));
  const kept = nodes
    .filter(({ name }) => !removed.has(name))
    .map((node) => ({
      node: node.name,
      nodePool: node.nodePool?.metadata.name ?? null,
      reason:
        node.verdict.kind === 'stays'
          ? node.verdict.reason
          : (reasons.get(node.name) ?? { kind: 'nothing-cheaper' as const }),
    }))
    .toSorted((a, b) => byCodeUnit(a.node, b.node));
  const before = costOf(nodes);
  const stays = costOf(nodes.filter(({ name }) => !removed.has(name)));
  const bought = replacements.reduce((sum, { price }) => sum + price, 0);
  const after = { nodes: stays.nodes + replacements.length, cost: microUsdPerHour(stays.cost + bought) };
  return { steps, replacements, kept, eligible: eligibleOf(nodes), before, after, lowerBound };
}

function eligibleOf(nodes: ReadonlyArray<JudgedNode>): DisruptionPlan['eligible'] {
  const counts: Partial<Record<DisruptionReason, number>> = {};
  for (const { verdict } of nodes) {
    if (verdict.kind !== 'stays') counts[verdict.reason] = (counts[verdict.reason] ?? 0) + 1;
  }
  return counts;
}

/** Nodes of NodePools only, as far as prices are known. */
function costOf(nodes: ReadonlyArray<JudgedNode>): ClusterCost {
  const own = nodes.filter(({ nodePool }) => nodePool !== null);
  return { nodes: own.length, cost: microUsdPerHour(own.reduce((sum, { price }) => sum + (price?.plain ?? 0), 0)) };
}

function toStep(
  { reason, remove, create }: RawStep,
  { homes }: Ends,
  names: ReadonlyMap<Slot, string>,
  { arena }: Replay,
): DisruptionStep {
  const created = new Set(names.values());
  const shapes = arena.workspace.input.cluster.shapes;
  const moves = remove.flatMap(({ node }) =>
    (node?.moving ?? []).map((pod): PlannedMove => {
      const home = homes.get(pod.uid) ?? '';
      return {
        pod: `${shapes[pod.shape]?.namespace ?? ''}/${pod.name}`,
        uid: pod.uid,
        from: node?.name ?? '',
        to: { kind: created.has(home) ? 'claim' : 'node', name: home },
      };
    }),
  );
  const plain = (slots: ReadonlyArray<Slot>): number =>
    slots.reduce((sum, { node, offering }) => sum + (node?.price?.plain ?? offering?.plainPrice ?? 0), 0);
  return {
    reason,
    remove: remove.flatMap(({ node }) => node?.name ?? []).toSorted(byCodeUnit),
    create: create.flatMap((slot) => names.get(slot) ?? []),
    moves: moves.toSorted((a, b) => byCodeUnit(a.from, b.from) || byCodeUnit(a.pod, b.pod)),
    saved: plain(remove) - plain(create),
  };
}
