import { byCodeUnit } from '../../rules/label-rule.ts';
import type { DisruptionStep, PlannedMove } from '../plan/disruption-plan.ts';
import type { Slot } from '../search/arena.ts';
import type { Ends } from './ends.ts';
import { plainCostOf } from './score.ts';
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
  const nodes = remove.flatMap(({ node }) => node ?? []);
  const moves = nodes.flatMap(({ name: from, moving }) =>
    moving.map((pod): PlannedMove => {
      const home = homes.get(pod.uid) ?? '';
      return {
        pod: `${shapes[pod.shape]?.namespace ?? ''}/${pod.name}`,
        uid: pod.uid,
        from,
        to: { kind: created.has(home) ? 'claim' : 'node', name: home },
      };
    }),
  );
  return {
    reason,
    remove: nodes.map(({ name }) => name).toSorted(byCodeUnit),
    create: create.flatMap((slot) => names.get(slot) ?? []),
    moves: moves.toSorted((a, b) => byCodeUnit(a.from, b.from) || byCodeUnit(a.pod, b.pod)),
    saved: plainCostOf(remove) - plainCostOf(create),
  };
}
