import { byCodeUnit } from '../../rules/label-rule.ts';
import type { DisruptionStep, PlannedMove } from '../plan/disruption-plan.ts';
import type { Slot } from '../search/arena.ts';
import type { Ends } from './ends.ts';
import type { Replay } from './replay.ts';
import type { RawStep } from './sequence.ts';

/** The steps as data: names in the place of slots, and where each pod goes. */
export function toSteps(steps: ReadonlyArray<RawStep>, replay: Replay, ends: Ends): ReadonlyArray<DisruptionStep> {
  const names = new Map([...replay.created].map(([name, slot]) => [slot, name]));
  return steps.map((step) => toStep(step, ends, names, replay));
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
