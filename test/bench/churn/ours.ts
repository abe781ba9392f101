import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { withoutNodes } from '../../../shared/core/present/without-nodes.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { coreInput, timeOf } from './core-input.ts';
import { carryOut, isQuiet, type Removal, type Remover } from './remover.ts';
import { appOf, isReady, launch, type SimNode, type World } from './world.ts';

/** A look each minute, as the function has it, and only where something has changed or become quiet since. */
const LOOK_TICKS = 4;

/**
 * Our disruption as `disrupt` has it: a look commits the first step of a plan; another one, at the earliest in the next
 * turn and once replacements are ready, judges the nodes again and removes them, or takes it all back.
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
    const given = { provisioning: coreInput(world, false), policy };
    const { replacements, steps } = planDisruption(given, instant(timeOf(world.tick)));
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

/**
 * As the second look does: the nodes must still be such as may go, and our planner finds places for their pods without
 * more nodes.
 */
function goOn(world: World, { going, coming }: Removal): void {
  const there = going.filter(({ name }) => world.nodes.has(name));
  for (const node of there) node.isLeaving = false;
  const isProtected = there.some((node) => [...node.pods].some((pod) => appOf(world, pod).isProtected));
  const isAwaited = [...world.pods.values()].some(({ awaited }) => awaited !== null && there.includes(awaited));
  if (isProtected || isAwaited || !findPlaces(world, there)) return;
  carryOut(world, { going: there, coming });
}

function findPlaces(world: World, going: ReadonlyArray<SimNode>): boolean {
  const input = withoutNodes(
    coreInput(world, false),
    going.map(({ name }) => name),
  );
  const moving = new Set(going.flatMap(({ pods }) => [...pods].map(({ uid }) => uid)));
  const plan = planProvisioning(input, instant(timeOf(world.tick)));
  const unplaced = [...plan.claims.flatMap(({ pods }) => pods), ...plan.left.map(({ pod }) => pod)];
  return !unplaced.some(({ uid }) => moving.has(uid));
}
