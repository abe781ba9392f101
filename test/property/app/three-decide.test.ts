import fc from 'fast-check';
import { expect, test } from 'vitest';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { drawsOf } from '../../setup/draws.ts';
import { NODE_LABELS, START, machine, since, smallCluster } from '../../kit/app/small-cluster.ts';
import { oneOfAName, processOver, untilDone } from './processes.ts';

type Cluster = ReturnType<typeof smallCluster>;

/** More come within this, which is waited for. */
const WINDOW_MS = 10_000;
const initialized = ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'].map((type) =>
  since(START, type),
);

/**
 * A cluster in which so many pods wait, none of which fits beside another, and which has so many nodes that nobody
 * uses.
 */
function clusterWith(given: { readonly waiting: number; readonly empty: number }): Cluster {
  const cluster = smallCluster();
  oneOfAName(cluster);
  cluster.addClass('True');
  cluster.addPool();
  for (let pod = 0; pod < given.waiting; pod++) cluster.addPod(`p-${pod}`, '1500m');
  for (let node = 0; node < given.empty; node++) addEmptyNode(cluster, `empty-${node}`);
  cluster.clock.advance(WINDOW_MS);
  return cluster;
}

function addEmptyNode(cluster: Cluster, claim: string): void {
  const labels = NODE_LABELS;
  const capacity = { cpu: '2', memory: '8Gi', pods: '30' };
  cluster.azure.machines.set(claim, machine(claim));
  cluster.addClaim(claim, {
    labels,
    status: {
      providerID: `azure://${claim}`,
      nodeName: `aks-${claim}`,
      conditions: initialized,
      capacity,
      allocatable: capacity,
    },
  });
  cluster.addNode(claim, {
    labels: { ...labels, 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' },
    status: { capacity, allocatable: capacity },
  });
}

/** Pods that come while others decide. */
const LATE = 2;

/**
 * So many pods come, one after the other, each at a moment of its own and so long ago when it is seen that no more are
 * waited for.
 */
async function comeLate({ addPod, clock }: Cluster, scheduler: fc.Scheduler, count: number): Promise<void> {
  for (let pod = 0; pod < count; pod++) {
    await scheduler.schedule(Promise.resolve());
    addPod(`late-${pod}`, '1500m');
    clock.advance(WINDOW_MS);
  }
}

/** Looks from a mark on a node to its deletion, and one more. */
const ROUNDS = 3;

/** Processes that each do one of `acts` at once, until it is done; then one looks once more. */
async function decidedAtOnce(
  cluster: Cluster,
  scheduler: fc.Scheduler,
  acts: ReadonlyArray<(ports: Ports) => Promise<unknown>>,
): Promise<void> {
  const all = acts.map((act) => {
    const ports = processOver(cluster, scheduler);
    return untilDone(() => act(ports));
  });
  await scheduler.waitFor(Promise.all(all));
  await untilDone(() => provision(cluster.ports));
}

const claimsOf = ({ server }: Cluster): ReadonlyArray<string> =>
  server.list('nodeclaims').map(({ metadata }) => metadata.name);

test('three processes that plan at once, pods coming meanwhile, make each pod one place, and no claim twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 3 }), async (scheduler, waiting) => {
      const cluster = clusterWith({ waiting, empty: 0 });
      const plans = [provision, provision, provision];
      await decidedAtOnce(cluster, scheduler, [...plans, () => comeLate(cluster, scheduler, LATE)]);
      expect(claimsOf(cluster)).toHaveLength(waiting + LATE);
      expect(new Set(hintedClaims(cluster))).toEqual(new Set(claimsOf(cluster)));
    }),
    { numRuns: drawsOf(300, 30) },
  );
});

test('where one plans, another removes nodes and pods come meanwhile, every pod has a place that stays in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.nat({ max: 2 }), fc.nat({ max: 2 }), async (scheduler, waiting, late) => {
      const cluster = clusterWith({ waiting, empty: 2 });
      const come = (): Promise<void> => comeLate(cluster, scheduler, late);
      await decidedAtOnce(cluster, scheduler, [provision, disrupt, come, provision]);
      for (let round = 0; round < ROUNDS; round++) {
        cluster.clock.advance(WINDOW_MS);
        await untilDone(() => provision(cluster.ports));
        await untilDone(() => disrupt(cluster.ports));
      }
      const staying = claimsOf(cluster).filter((claim) => staysAsItIs(cluster, claim));
      expect(staying.length).toBeGreaterThanOrEqual(waiting + late);
      // A node that nobody uses holds one of them: nobody buys what need not be bought, but for a pod that came when
      // both were going.
      expect(claimsOf(cluster).length).toBeLessThanOrEqual(2 + waiting + late);
    }),
    { numRuns: drawsOf(300, 30) },
  );
});

/** It is not on its way out, and no pod is kept from its node. */
function staysAsItIs({ server, stateOf }: Cluster, claim: string): boolean {
  const taints = server.get('nodes', `aks-${claim}`)?.spec?.['taints'] as
    ReadonlyArray<{ readonly key: string }> | undefined;
  return stateOf(claim) === 'there' && taints?.some(({ key }) => key === 'karpenter.sh/disrupted') !== true;
}

function hintedClaims({ sent }: Cluster): ReadonlyArray<string> {
  return sent.flatMap(({ hint }) => ('objects' in hint ? hint.objects.map(({ name }) => name) : []));
}
