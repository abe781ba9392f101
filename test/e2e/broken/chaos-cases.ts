import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Rng, rngFrom } from '../../../sandbox/base/rng.ts';
import { type SandboxOptions } from '../../../sandbox/world/sandbox.ts';
import { textFact } from '../../../sandbox/start/view/app-events.ts';
import { claimsQueue } from '../../../shared/contract/messages/queues.ts';
import { annotation } from '../../../shared/contract/names.ts';
import { startChaos } from './chaos.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { recordHistory } from '../kit/history.ts';
import { deployment, nodeClass, nodePool, oneToANode } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type Claim, isTrue } from '../kit/state.ts';
import { type Mode, type World, eventsOf, startWorld } from '../kit/world.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';

/** A relay that was killed is followed after its lease has run out, 15 s; the rest is for a machine that others use. */
const RECOVERED_WITHIN_MS = 120_000;
/** A test waits twice at most, and once for what was in the hands of a host that was killed. */
const TEST_WITHIN_MS = 2 * RECOVERED_WITHIN_MS + claimsQueue.lockDurationMs + 60_000;

/** As deployed it is five minutes, which each host that is killed may cost. */
const LOCK_SECONDS = 60;

/**
 * Whatever is killed, whenever: afterwards all pods run on exactly the machines that claims stand for. `seeds` draw the
 * moments.
 */
export function chaosCases(
  mode: Mode,
  title: string,
  seeds: {
    readonly growth: ReadonlyArray<string>;
    readonly churn: ReadonlyArray<string>;
    readonly loss: ReadonlyArray<string>;
  },
  options: Partial<SandboxOptions> = {},
): void {
  describe(`${title} (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      world = await startWorld(mode, { hosts: 'as-on-azure', lockSeconds: LOCK_SECONDS, ...options });
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await world?.close();
    });
    afterEach(async () => {
      await removeAll(world);
    });

    it.each(seeds.growth)(
      'a cluster grows while parts are killed: no VM too many (seed %s)',
      async (seed) => {
        const rng = rngFrom(seed);
        const [made, told] = [madeSoFar(world), world.lines.length];
        const claims = await recordHistory<Claim>(world, CLAIMS);
        const chaos = startChaos(world, rng.split('chaos'), { betweenMs: 1_500, deadMs: 1_000 });
        await world.apply(nodePool('general', { capacityTypes: ['spot', 'on-demand'] }));
        const pods = await grow(world, rng.split('growth'));
        await chaos.stop();
        // A machine that a kill holds up comes late: its pods may have found room on others by then.
        await expectConsistent(world, { pods, mayBeEmpty: true, withinMs: RECOVERED_WITHIN_MS });
        claims.close();
        expect(chaos.kills()).toBeGreaterThan(0);
        const twice = [...madeFor(world.lines.slice(told))].filter(([, names]) => names.size > 1);
        expect(twice, 'pods that more than one NodeClaim was made for').toEqual([]);
        const bought = new Map(claims.versions.map(({ object }) => [object.metadata.name, object]));
        expect(madeSoFar(world) - made, 'VMs made, and NodeClaims').toBeLessThanOrEqual(bought.size);
        // Who is killed before it logs what it made is in no line; what it made says for how many pods.
        const places = [...bought.values()].filter(
          ({ metadata }) => metadata.annotations?.[annotation.givenUp] === undefined,
        );
        const plannedFor = places.map(({ metadata }) => Number(metadata.annotations?.[annotation.plannedPods] ?? 0));
        expect(
          plannedFor.reduce((sum, count) => sum + count, 0),
          'places that were bought',
        ).toBeLessThanOrEqual(pods);
      },
      TEST_WITHIN_MS,
    );

    it.each(seeds.churn)(
      'machines come and go while parts are killed: none is leaked (seed %s)',
      async (seed) => {
        const rng = rngFrom(seed);
        await world.apply(nodePool('general', { capacityTypes: ['spot', 'on-demand'] }));
        await world.apply(deployment('steady', 6), deployment('other', 3, { cpu: '500m', memory: '4Gi' }));
        await expectConsistent(world, { pods: 9, withinMs: RECOVERED_WITHIN_MS });
        const chaos = startChaos(world, rng.split('chaos'), { betweenMs: 1_500, deadMs: 1_000 });
        await churn(world, rng.split('churn'));
        await chaos.stop();
        await world.api.patch(`${DEPLOYMENTS}/steady`, 'merge', { spec: { replicas: 6 } });
        await expectConsistent(world, { pods: 9, mayBeEmpty: true, withinMs: RECOVERED_WITHIN_MS });
      },
      TEST_WITHIN_MS,
    );

    it.each(seeds.loss)(
      'every node is lost at once, the relay with them: nodes come back by themselves (seed %s)',
      async (seed) => {
        const rng = rngFrom(seed);
        await world.apply(nodePool('general', { capacityTypes: ['spot', 'on-demand'] }), deployment('inflate', 8));
        const before = await expectConsistent(world, { pods: 8, withinMs: RECOVERED_WITHIN_MS });
        const old = new Set(before.vms.map(({ name }) => name));
        await world.sandbox.relay.kill();
        for (const vm of before.vms) {
          if (vm.capacityType === 'spot' && rng.chance(50)) world.sandbox.azure.evict(vm.name, { noticeSeconds: 0 });
          else world.sandbox.azure.crash(vm.name);
        }
        // A relay is a pod: it runs again once there is a node for it.
        await world.until(
          'a new node is there',
          ({ claims }) =>
            claims.some((claim) => !old.has(`aks-${claim.metadata.name}`) && isTrue(claim, 'Initialized')),
          RECOVERED_WITHIN_MS,
        );
        await world.sandbox.relay.start();
        const after = await expectConsistent(world, { pods: 8, withinMs: RECOVERED_WITHIN_MS });
        expect(after.vms.filter(({ name }) => old.has(name))).toEqual([]);
      },
      TEST_WITHIN_MS,
    );
  });
}

/** Names of the NodeClaims that were made for each pod, as the log tells. */
function madeFor(lines: ReadonlyArray<string>): ReadonlyMap<string, ReadonlySet<string>> {
  const claimsOf = new Map<string, Set<string>>();
  for (const said of eventsOf(lines)) {
    if (said.event !== 'nodeclaim-created') continue;
    for (const pod of textFact(said, 'pods').split(',').filter(Boolean)) {
      claimsOf.set(pod, (claimsOf.get(pod) ?? new Set()).add(textFact(said, 'claim')));
    }
  }
  return claimsOf;
}

/** VMs that ever came to be. */
function madeSoFar({ sandbox }: World): number {
  return Object.keys(sandbox.azure.counters().creations).length;
}

/** Workloads of three shapes arrive within a few seconds. The answer is their number of pods. */
async function grow(world: World, rng: Rng): Promise<number> {
  const shapes = [
    (replicas: number) => deployment('shy', replicas, { cpu: '100m', memory: '64Mi', pod: oneToANode('shy') }),
    (replicas: number) => deployment('small', replicas, { cpu: '250m', memory: '512Mi' }),
    (replicas: number) => deployment('large', replicas, { cpu: '3', memory: '6Gi' }),
  ];
  let pods = 0;
  for (const shape of shapes) {
    const replicas = 2 + rng.below(4);
    pods += replicas;
    await world.apply(shape(replicas));
    await sleep(rng.below(2_500));
  }
  return pods;
}

/** Six things that happen to a cluster, at drawn moments. */
async function churn(world: World, rng: Rng): Promise<void> {
  for (let step = 0; step < 6; step++) {
    await oneChange(world, rng);
    await sleep(rng.below(2_000));
  }
}

async function oneChange(world: World, rng: Rng): Promise<void> {
  const { claims, vms } = await world.until('something is there to change', ({ claims: some }) => some.length > 0);
  const pick = <Item>(items: ReadonlyArray<Item>): Item | undefined => items[rng.below(Math.max(1, items.length))];
  switch (rng.below(4)) {
    case 0: {
      const replicas = 2 + rng.below(7);
      await world.api.patch(`${DEPLOYMENTS}/steady`, 'merge', { spec: { replicas } });
      return;
    }
    case 1: {
      const claim = pick(claims);
      if (claim !== undefined) await world.api.remove(`${CLAIMS}/${claim.metadata.name}`, {}).catch(ignoreGone);
      return;
    }
    case 2: {
      const vm = pick(vms.filter(({ capacityType }) => capacityType === 'spot'));
      if (vm !== undefined) tryTo(() => world.sandbox.azure.evict(vm.name, { noticeSeconds: 1 + rng.below(8) }));
      return;
    }
    default: {
      const vm = pick(vms);
      if (vm !== undefined) tryTo(() => world.sandbox.azure.crash(vm.name));
    }
  }
}

/** What is to be broken may be gone already. */
function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // Gone: that is what was wanted.
  }
}

function ignoreGone(error: unknown): void {
  if (!String(error).includes('404')) throw error;
}
