import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { coreInput, timeOf } from './core-input.ts';
import { simulate } from './first-fit.ts';
import { carryOut, isCandidate, isQuiet, type Removal, type Remover } from './remover.ts';
import { isReady, launch, type World } from './world.ts';

/** A look each minute, as the function has it, and only where something has changed or become quiet since. */
const LOOK_TICKS = 4;

/**
 * Our disruption: a look commits the first step of a plan; another one, at the earliest in the next turn and once replacements are ready, judges
 * the nodes again and removes them, or takes it all back.
 */
export function ours(searchSteps: number): Remover {
  let begun: Removal | null = null;
  let seen = -1;
  const policy = { ...DEFAULT_DISRUPTION, searchSteps };
  return (world) => {
    if (begun !== null) {
      if (begun.coming.some((node) => world.nodes.has(node.name) && !isReady(world, node))) return;
      goOn(world, begun);
      begun = null;
      return;
    }
    if (world.tick % LOOK_TICKS !== 0 || seen === world.changes) return;
    // Pods that wait come first.
    if ([...world.pods.values()].some(({ node, awaited }) => node === null && awaited === null)) return;
    const { replacements, steps } = planDisruption({ provisioning: coreInput(world, false), policy }, instant(timeOf(world.tick)));
    const [step] = steps;
    if (step === undefined) {
      if ([...world.nodes.values()].every((node) => isQuiet(world, node))) seen = world.changes;
      return;
    }
    const going = step.remove.flatMap((name) => world.nodes.get(name) ?? []);
    for (const node of going) node.isLeaving = true;
    const created = new Set(step.create);
    const coming = replacements
      .filter(({ name }) => created.has(name))
      .map(({ instanceType, zone }) => launch(world, instanceType, zone));
    begun = { going, coming };
  };
}

/** As the second look does: the nodes must still be such as may go, and their pods have places without more nodes. */
function goOn(world: World, { going, coming }: Removal): void {
  const there = going.filter(({ name }) => world.nodes.has(name));
  for (const node of there) node.isLeaving = false;
  const hold = there.every((node) => isCandidate(world, node) || (coming.length > 0 && isReady(world, node)));
  const isProtected = there.some((node) => [...node.pods].some(({ app }) => world.apps[app]?.isProtected === true));
  if (!hold || isProtected || simulate(world, there, () => true)?.claim !== null) return;
  carryOut(world, { going: there, coming });
}
