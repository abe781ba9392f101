import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Catalog } from '../../../shared/core/model/catalog.ts';
import type { Plan, PodReference } from '../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import type { PodSpec, Requirement } from '../../../shared/kubernetes/manifest.ts';
import { drawsOf } from '../../setup/draws.ts';
import { requirement } from '../../kit/core/build.ts';
import { plainPool, type PoolManifest } from './drawn-pools.ts';
import { workload, type WorkloadManifest } from './drawn-workloads.ts';
import { everyPlan, runs, slow } from './every-plan.ts';
import { catalogByCommand, readWorld } from './read-world.ts';
import { changed, worlds, type World } from './worlds.ts';

const now = instant(0);

test('the command and the functions make one catalog of the shipped sizes', slow, () => {
  const property = fc.asyncProperty(worlds, async (drawn) => {
    // The command knows nothing of evictions.
    const world = { ...drawn, evictionsPerHour: 0 };
    const { snapshot, input } = await readWorld(world);
    const catalog = catalogByCommand(world, snapshot).catalog;
    expect(catalog.size).toBe(world.pools.length);
    expect(differences(catalog, input.catalog)).toEqual([]);
  });
  return fc.assert(property, { numRuns: drawsOf(20, 4) });
});

test('no plan over the shipped sizes breaks its audit', slow, () =>
  everyPlan((plan, { input }) => {
    expect(auditPlan(plan, input).filter(({ severity }) => severity === 'fatal')).toEqual([]);
  }),
);

test('a pool or a pod that nothing can satisfy changes nothing for the others', slow, () => {
  const property = fc.asyncProperty(worlds, fc.constantFrom(...BROKEN), async (world, broken) => {
    const [before, after] = [await readWorld(world), await readWorld(withBroken(world, broken))];
    const [plan, other] = [planProvisioning(before.input, now), planProvisioning(after.input, now)];
    expect(placesIn(other)).toEqual(placesIn(plan));
    expect(auditPlan(other, after.input).filter(({ severity }) => severity === 'fatal')).toEqual([]);
  });
  return fc.assert(property, runs);
});

/** Sizes that are not the same in both, or in one only. */
function differences(one: Catalog, other: Catalog): ReadonlyArray<string> {
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((pool) => {
    const [own, theirs] = [one, other].map(
      (catalog) => new Map((catalog.get(pool) ?? []).map((type) => [type.name, JSON.stringify(type)])),
    );
    const names = new Set([...(own?.keys() ?? []), ...(theirs?.keys() ?? [])]);
    return [...names].filter((name) => own?.get(name) !== theirs?.get(name)).map((name) => `${pool} ${name}`);
  });
}

/** A pool, or a workload, that cannot be had. */
interface Broken {
  readonly pools: ReadonlyArray<PoolManifest>;
  readonly workloads: ReadonlyArray<WorkloadManifest>;
}

const BROKEN: ReadonlyArray<Broken> = [
  brokenPool(requirement('karpenter.azure.com/sku-family', 'In', 'Q')),
  brokenPool(requirement('topology.kubernetes.io/zone', 'In', 'elsewhere-1')),
  brokenPool(requirement('karpenter.sh/capacity-type', 'NotIn', 'on-demand')),
  brokenPool(
    requirement('karpenter.k8s.aws/instance-category', 'In', 'c', 'm'),
    requirement('karpenter.azure.com/sku-cpu', 'Lt', '1'),
  ),
  brokenPod({ containers: [{ resources: { requests: { cpu: '5000' } } }] }),
  brokenPod({ containers: [{}], nodeSelector: { 'karpenter.k8s.aws/instance-hypervisor': 'nitro' } }),
  brokenPod({ containers: [{}], nodeSelector: { 'topology.kubernetes.io/zone': 'elsewhere-1' }, priority: 1_000_000 }),
];

function brokenPool(...more: ReadonlyArray<Requirement>): Broken {
  const plain = plainPool('broken');
  const { spec } = plain.spec.template;
  const template = { spec: { ...spec, requirements: [...spec.requirements, ...more] } };
  return { pools: [{ ...plain, spec: { ...plain.spec, template } }], workloads: [] };
}

function brokenPod(spec: PodSpec): Broken {
  return { pools: [], workloads: [workload('broken', 1, spec)] };
}

function withBroken(world: World, { pools, workloads }: Broken): World {
  return changed(world, { pools: [...pools, ...world.pools], workloads: [...workloads, ...world.workloads] });
}

/** Where the plan puts the pods. */
function placesIn({ claims, nominations }: Plan) {
  const named = ({ pods }: { readonly pods: ReadonlyArray<PodReference> }) => pods.map(({ name }) => name);
  return {
    claims: claims.map((claim) => ({ pods: named(claim), pool: claim.nodePool, offering: claim.offering })),
    nominations: nominations.map((one) => ({ pods: named(one), target: one.target.name })),
  };
}
