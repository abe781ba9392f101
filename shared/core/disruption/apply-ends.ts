import type { Node, NodeClaim, NodePool } from '../../kubernetes/manifest.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { Catalog, InstanceType } from '../model/catalog.ts';
import { allocatableOf } from '../model/allocatable.ts';
import { fixedLabels } from '../offerings/compile-pool.ts';
import { byCodeUnit, chooseValue, toRules } from '../rules/label-rule.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import type { PlannedReplacement } from './plan/disruption-plan.ts';
import type { Ends } from './steps/ends.ts';

/**
 * The cluster as it is once all has come to `ends` and nothing else has changed: nodes that go are gone, new ones are
 * complete and as ready for consolidation as the ones before, and every pod that moved runs where it was to go.
 */
export function applyEnds(input: ProvisioningInput, { gone, created, homes }: Ends): ProvisioningInput {
  const { cluster, catalog } = input;
  const pools = new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool]));
  const goneClaims = new Set(
    cluster.nodes.flatMap(({ metadata, spec }) =>
      gone.has(metadata.name) ? [metadata.name, spec?.providerID ?? ''] : [],
    ),
  );
  const fresh = [...created.values()]
    .toSorted((a, b) => byCodeUnit(a.name, b.name))
    .flatMap((one) => {
      const pool = pools.get(one.nodePool);
      const type = typeOf(catalog, one);
      return pool === undefined || type === undefined ? [] : [machineOf(one, pool, type)];
    });
  return {
    ...input,
    cluster: {
      ...cluster,
      nodes: [...cluster.nodes.filter(({ metadata }) => !gone.has(metadata.name)), ...fresh.map(({ node }) => node)],
      nodeClaims: [
        ...cluster.nodeClaims.filter(
          ({ metadata, status }) =>
            !goneClaims.has(status?.providerID ?? '-') && !goneClaims.has(status?.nodeName ?? metadata.name),
        ),
        ...fresh.map(({ claim }) => claim),
      ],
      pods: cluster.pods.flatMap((pod) => {
        if (!gone.has(pod.nodeName ?? '')) return [pod];
        const nodeName = homes.get(pod.uid);
        return nodeName === undefined ? [] : [{ ...pod, nodeName }];
      }),
    },
  };
}

function typeOf(catalog: Catalog, { nodePool, instanceType }: PlannedReplacement): InstanceType | undefined {
  return catalog.get(nodePool)?.find(({ name }) => name === instanceType);
}

interface FreshMachine {
  readonly node: Node;
  readonly claim: NodeClaim;
}

function machineOf({ name, zone, capacityType }: PlannedReplacement, pool: NodePool, type: InstanceType): FreshMachine {
  const { template } = pool.spec;
  const offering = type.offerings.find((one) => one.zone === zone && one.capacityType === capacityType);
  const labels: Record<string, string> = {};
  for (const [key, rule] of toRules(template.spec.requirements)) {
    const value = chooseValue(rule);
    if (value !== null) labels[key] = value;
  }
  for (const [key, values] of Object.entries(type.labels)) {
    if (values.length === 1 && values[0] !== undefined) labels[key] = values[0];
    else delete labels[key];
  }
  Object.assign(labels, offering?.labels, fixedLabels(pool), {
    [labelKey.instanceType]: type.name,
    [labelKey.zone]: zone,
    [labelKey.capacityType]: capacityType,
    [labelKey.registered]: 'true',
    [labelKey.initialized]: 'true',
    [labelKey.hostname]: name,
  });
  const providerID = `planned:///${name}`;
  const allocatable = allocatableOf(type);
  const conditions = ['Launched', 'Registered', 'Initialized', 'Consolidatable', 'Ready'].map((kind) => ({
    type: kind,
    status: 'True',
  }));
  return {
    node: {
      metadata: { name, labels },
      spec: { providerID, taints: template.spec.taints ?? [] },
      status: { capacity: type.capacity, allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
    },
    claim: {
      metadata: { name, labels },
      // Its life begins when it is made: whatever the age at which it is to go, it is not there yet.
      spec: { ...template.spec, expireAfter: 'Never' },
      status: { providerID, nodeName: name, capacity: type.capacity, allocatable, conditions },
    },
  };
}
