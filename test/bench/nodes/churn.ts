import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { coreInput, timeOf } from '../churn/core-input.ts';
import { DAY, drawnDay, TICK_S, type Day, type Happening } from '../churn/day.ts';
import { karpenter } from '../churn/karpenter.ts';
import { ours } from '../churn/ours.ts';
import type { Remover } from '../churn/remover.ts';
import {
  appOf,
  bind,
  endPod,
  isReady,
  launch,
  mayBeIn,
  newWorld,
  removeNode,
  startPod,
  succeed,
  zonesOf,
  type SimNode,
  type SimPod,
  type World,
} from '../churn/world.ts';

/**
 * A simulated day of churn under our disruption, under Karpenter's, and with nobody removing nodes: `node
 * test/bench/nodes/churn.ts [seeds] [search steps] [hours]`. All else is the same: what happens to the pods,
 * kube-scheduler's choice (the node with most left free), and our planner of provisioning, so that what differs is who
 * removes nodes. The search is shorter than the product's, so that a day passes in minutes. On-demand nodes only, two
 * minutes to start one, a budget of a tenth, consolidateAfter of a minute, no daemons.
 */
const [seeds = '3', steps = '400000', hours = '24'] = process.argv.slice(2);
const end = (DAY / 24) * Number(hours);

const REMOVERS: ReadonlyArray<readonly [name: string, make: () => Remover]> = [
  ['ours', () => ours(Number(steps))],
  ['Karpenter', karpenter],
  ['nobody', () => () => undefined],
];

for (let seed = 1; seed <= Number(seeds); seed++) {
  const day = drawnDay(seed);
  for (const [name, make] of REMOVERS) {
    const before = process.cpuUsage().user;
    const { cost, evictions, started, waited } = live(day, make());
    const cpuS = (process.cpuUsage().user - before) / 1e6;
    process.stdout.write(
      `seed ${seed} ${name.padEnd(10)} ${cost.toFixed(2).padStart(8)} $, ${String(evictions).padStart(5)} evictions, ` +
        `${String(started).padStart(4)} nodes started, ${waited.toFixed(0).padStart(6)} pod minutes waited, ${cpuS.toFixed(0)} s of CPU\n`,
    );
  }
}

function live({ apps, happenings }: Day, remove: Remover): World['counted'] {
  const world = newWorld(apps);
  for (; world.tick < end; world.tick++) {
    for (const one of happenings.get(world.tick) ?? []) happen(world, one);
    arrive(world);
    schedule(world);
    provision(world);
    remove(world);
    count(world);
  }
  return world.counted;
}

function happen(world: World, one: Happening): void {
  if (one.kind === 'start') return startPod(world, one.pod, one.app);
  if (one.kind === 'end') return endPod(world, one.pod);
  if (one.kind === 'evict') {
    const pod = world.pods.get(one.pod);
    return pod === undefined ? undefined : succeed(world, pod);
  }
  const nodes = [...world.nodes.values()].filter((node) => isReady(world, node));
  const node = nodes[Math.floor(one.share * nodes.length)];
  if (node !== undefined) removeNode(world, node);
}

/** Pods come to the nodes that they have waited for. */
function arrive(world: World): void {
  for (const pod of world.pods.values()) {
    if (pod.awaited !== null && isReady(world, pod.awaited)) bind(world, pod, pod.awaited);
  }
}

function waitingIn(world: World): ReadonlyArray<SimPod> {
  return [...world.pods.values()].filter(({ node, awaited }) => node === null && awaited === null);
}

/** As kube-scheduler: the node that would have most left free. */
function schedule(world: World): void {
  for (const pod of waitingIn(world)) {
    const app = appOf(world, pod);
    const counts = app.isSpread ? zonesOf(world, pod.app) : null;
    const left = ({ type, cpuM, mib }: SimNode): number => (type.cpuM - cpuM) / type.cpuM + (type.mib - mib) / type.mib;
    const [best] = [...world.nodes.values()]
      .filter(
        (node) =>
          isReady(world, node) &&
          !node.isLeaving &&
          node.cpuM + app.cpuM <= node.type.cpuM &&
          node.mib + app.mib <= node.type.mib &&
          node.pods.size < node.type.pods &&
          (counts === null || mayBeIn(counts, node.zone)),
      )
      .toSorted((a, b) => left(b) - left(a) || (a.name < b.name ? -1 : 1));
    if (best !== undefined) bind(world, pod, best);
  }
}

function provision(world: World): void {
  const waiting = new Map(waitingIn(world).map((pod) => [pod.uid, pod]));
  if (waiting.size === 0) return;
  const plan = planProvisioning(coreInput(world, true), instant(timeOf(world.tick)));
  for (const { target, pods } of plan.nominations) {
    const node = world.nodes.get(target.name);
    for (const { uid } of pods) letAwait(waiting.get(uid), node);
  }
  for (const { offering, pods } of plan.claims) {
    const node = launch(world, offering.instanceType, offering.zone);
    for (const { uid } of pods) letAwait(waiting.get(uid), node);
  }
}

function letAwait(pod: SimPod | undefined, node: SimNode | undefined): void {
  if (pod !== undefined && node !== undefined) pod.awaited = node;
}

function count(world: World): void {
  const { counted } = world;
  for (const { type } of world.nodes.values()) counted.cost += (type.price / 1e6) * (TICK_S / 3600);
  for (const { node } of world.pods.values()) if (node === null) counted.waited += TICK_S / 60;
}
