import { expect } from 'vitest';
import type { InstanceType } from '../../../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../../../shared/core/model/cluster.ts';
import type {
  Affinity,
  LabelSelector,
  NodeClaim,
  NodePool,
  PodAffinityTerm,
  PodSpec,
  Requirement,
  ResourceList,
  Taint,
  TopologySpreadConstraint,
} from '../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan, PlannedClaim } from '../../../../shared/core/model/plan.ts';
import type { LeftReason } from '../../../../shared/core/model/left-reason.ts';
import { renderLeftReason } from '../../../../shared/core/telling/reasons/render-left-reason.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input, node, pool, requirement, size, zones } from '../../../kit/core/build.ts';

export { offering, onDemand, requirement, zones } from '../../../kit/core/build.ts';

/** Label keys by short names, so that a test reads as its rule. */
export const key = {
  zone: 'topology.kubernetes.io/zone',
  host: 'kubernetes.io/hostname',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  type: 'node.kubernetes.io/instance-type',
  capacityType: 'karpenter.sh/capacity-type',
  pool: 'karpenter.sh/nodepool',
  family: 'karpenter.azure.com/sku-family',
  cpu: 'karpenter.azure.com/sku-cpu',
} as const;

export const [z1, z2, z3] = zones;

/** Three sizes, twice as large and a little less than twice as dear each time. */
export const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
export const D4 = size('Standard_D4s_v5', 4, 16, 200_000);
export const D8 = size('Standard_D8s_v5', 8, 32, 390_000);
const COMMON: ReadonlyArray<InstanceType> = [D2, D4, D8];

/** An ARM size, the cheapest of all, and one with a GPU. */
export const ARM = size('Standard_D2ps_v5', 2, 8, 80_000, {
  labels: { ...D2.labels, 'kubernetes.io/arch': ['arm64'] },
});
export const GPU = size('Standard_NC4as_T4_v3', 4, 28, 500_000, {
  capacity: { cpu: 4, memory: '28Gi', pods: 30, 'nvidia.com/gpu': 1 },
});

/** What a test says of a pod: parts of its spec, of its shape, and of what is its own. */
export interface PodParts extends Partial<PodSpec> {
  readonly cpu?: string;
  readonly memory?: string;
  /** Further requests of its container. */
  readonly requests?: ResourceList;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner?: PodShape['owner'];
  /** The node that it runs on. */
  readonly on?: string;
  readonly facts?: Partial<Pod>;
}

export interface DraftPod {
  readonly shape: PodShape;
  readonly pod: Omit<Pod, 'shape'>;
}

/** A pod that waits, or with `on` one that runs there: 100m of CPU and 128Mi unless told otherwise. */
export function pod(name: string, parts: PodParts = {}): DraftPod {
  const { cpu = '100m', memory = '128Mi', requests = {}, labels = {}, namespace = 'default', ...others } = parts;
  const { annotations = {}, owner = null, on, facts = {}, ...spec } = others;
  const runs = on !== undefined;
  return {
    shape: {
      namespace,
      labels,
      annotations,
      owner,
      spec: { containers: [{ resources: { requests: { cpu, memory, ...requests } } }], ...spec },
    },
    pod: {
      name,
      uid: name,
      createdAtMs: 1_000,
      startedAtMs: runs ? 1_000 : null,
      nodeName: on ?? null,
      nominatedNodeName: null,
      unschedulable: !runs,
      deleting: false,
      running: runs,
      ready: runs,
      ...facts,
    },
  };
}

/** `count` pods alike: `web-0`, `web-1` and so on. */
export function replicas(count: number, name: string, parts: PodParts = {}): ReadonlyArray<DraftPod> {
  return Array.from({ length: count }, (_, index) => pod(`${name}-${index}`, parts));
}

export interface Situation extends Partial<Omit<Cluster, 'pods' | 'shapes' | 'nodePools'>> {
  readonly pods: ReadonlyArray<DraftPod>;
  /** The default NodePool of `COMMON` sizes on demand, unless told otherwise. */
  readonly pools?: ReadonlyArray<NodePool>;
  readonly types?: ReadonlyArray<InstanceType>;
  readonly inFlight?: ProvisioningInput['inFlight'];
  readonly policy?: Partial<ProvisioningInput['policy']>;
  /** When the plan is made, in milliseconds since the epoch. */
  readonly now?: number;
}

/** What came of it, asked by pods' names. */
export interface Outcome {
  readonly plan: Plan;
  readonly claims: ReadonlyArray<PlannedClaim>;
  /** Names of the pods that were left, sorted. */
  readonly left: ReadonlyArray<string>;
  /** `new 0`, `node n`, `claim c` or `left`. */
  readonly placeOf: (name: string) => string;
  /** The new claim that the pod is on; fails the test when it is on none. */
  readonly claimOf: (name: string) => PlannedClaim;
  /** How many pods with names that start so are in each zone of new claims and nodes, most first. */
  readonly perZone: (prefix: string) => ReadonlyArray<number>;
  /** How many such pods are on each place, most first. */
  readonly perPlace: (prefix: string) => ReadonlyArray<number>;
  /** The rules that kept a pod out. */
  readonly rulesFor: (name: string) => ReadonlyArray<string>;
  /** What its owner is told: detail and fix of every reason. */
  readonly wordsFor: (name: string) => string;
}

/** The input that a situation is, for tests that plan or audit by themselves. */
export function toInput(situation: Situation): ProvisioningInput {
  const { pods, pools = [pool('default')], types = COMMON, now: _, ...others } = situation;
  const ids = new Map<string, number>();
  const shapes: Array<PodShape> = [];
  const numbered = pods.map(({ shape, pod: facts }): Pod => {
    const id = JSON.stringify(shape);
    const index = ids.get(id) ?? shapes.push(shape) - 1;
    ids.set(id, index);
    return { ...facts, shape: index };
  });
  return input({ ...others, types, nodePools: pools, shapes, pods: numbered });
}

/** Plans the situation and audits the plan. */
export function schedule(situation: Situation): Outcome {
  const given = toInput(situation);
  const plan = planProvisioning(given, instant(situation.now ?? 0));
  expect(auditPlan(plan, given)).toEqual([]);
  return toOutcome(plan, given);
}

function toOutcome(plan: Plan, given: ProvisioningInput): Outcome {
  const places = new Map<string, string>();
  const zoneOf = new Map<string, string>();
  const note = (pods: ReadonlyArray<{ readonly name: string }>, place: string, zone: string): void => {
    for (const { name } of pods) places.set(toName(name), place);
    zoneOf.set(place, zone);
  };
  plan.claims.forEach(({ pods, offering }, index) => note(pods, `new ${index}`, offering.zone));
  for (const { target, pods } of plan.nominations) {
    const found = given.cluster.nodes.find(({ metadata }) => metadata.name === target.name);
    note(pods, `${target.kind} ${target.name}`, found?.metadata.labels?.[key.zone] ?? '');
  }
  const left = plan.left.map(({ pod: { name } }) => toName(name)).toSorted();
  for (const name of left) places.set(name, 'left');
  const tally = (prefix: string, groupOf: (place: string) => string): ReadonlyArray<number> => {
    const own = [...places].filter(([name, place]) => name.startsWith(prefix) && place !== 'left');
    return [...Map.groupBy(own, ([, place]) => groupOf(place)).values()]
      .map((group) => group.length)
      .toSorted((a, b) => b - a);
  };
  const placeOf = (name: string): string => places.get(name) ?? 'nowhere';
  return {
    plan,
    claims: plan.claims,
    left,
    placeOf,
    claimOf: (name) => {
      const claim = plan.claims[Number(placeOf(name).replace('new ', ''))];
      if (claim === undefined) throw new Error(`${name} is not on a new claim but ${placeOf(name)}`);
      return claim;
    },
    perZone: (prefix) => tally(prefix, (place) => zoneOf.get(place) ?? ''),
    perPlace: (prefix) => tally(prefix, (place) => place),
    rulesFor: (name) => reasonsOf(plan, name).map(({ kind }) => kind),
    wordsFor: (name) =>
      reasonsOf(plan, name)
        .map(renderLeftReason)
        .map(({ detail, fix }) => `${detail}; ${fix}`)
        .join('\n'),
  };
}

function reasonsOf(plan: Plan, name: string): ReadonlyArray<LeftReason> {
  return plan.left.find(({ pod: { name: own } }) => toName(own) === name)?.refusals ?? [];
}

function toName(reference: string): string {
  return reference.slice(reference.indexOf('/') + 1);
}

/** The values of a claim's requirement by key; fails the test when there is none. */
export function valuesOf(claim: PlannedClaim, name: string): ReadonlyArray<string> {
  const found = claim.requirements.find((one) => one.key === name);
  expect(found).toBeDefined();
  return found?.values ?? [];
}

/** Required node affinity of one term. */
export function requires(...expressions: ReadonlyArray<Requirement>): { readonly affinity: Affinity } {
  return requiresAny(expressions);
}

/** Required node affinity of several terms, of which one must hold. */
export function requiresAny(...terms: ReadonlyArray<ReadonlyArray<Requirement>>): { readonly affinity: Affinity } {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions }));
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

/** Preferred node affinity: weight and expression. */
export function prefers(...terms: ReadonlyArray<readonly [number, Requirement]>): { readonly affinity: Affinity } {
  const preferred = terms.map(([weight, expression]) => ({ weight, preference: { matchExpressions: [expression] } }));
  return { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } };
}

export function selecting(labels: Readonly<Record<string, string>>): LabelSelector {
  return { matchLabels: labels };
}

export const web = { app: 'web' };

/** A hard spread of pods labelled `web` over `topologyKey`. */
export function spreadOver(
  topologyKey: string,
  more: Partial<TopologySpreadConstraint> = {},
): TopologySpreadConstraint {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: selecting(web), ...more };
}

type Terms = ReadonlyArray<PodAffinityTerm>;

export function near(...terms: Terms): { readonly affinity: Affinity } {
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } };
}

export function apart(...terms: Terms): { readonly affinity: Affinity } {
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } };
}

export function wouldBe(which: 'near' | 'apart', ...terms: Terms): { readonly affinity: Affinity } {
  const rules = {
    preferredDuringSchedulingIgnoredDuringExecution: terms.map((podAffinityTerm) => ({ weight: 1, podAffinityTerm })),
  };
  return { affinity: which === 'near' ? { podAffinity: rules } : { podAntiAffinity: rules } };
}

export function term(topologyKey: string, labels: Readonly<Record<string, string>>): PodAffinityTerm {
  return { topologyKey, labelSelector: selecting(labels) };
}

/** A pool of these requirements, on demand unless they say otherwise. */
export function poolWith(name: string, ...requirements: ReadonlyArray<Requirement>): NodePool {
  const capacity = requirements.some((one) => one.key === key.capacityType);
  const more = capacity ? [] : [requirement(key.capacityType, 'In', 'on-demand')];
  return pool(name, { requirements: [...more, ...requirements] });
}

interface Ours {
  readonly pool?: string;
  readonly cpu?: number;
  readonly initialized?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: ReadonlyArray<Taint>;
  readonly claimTaints?: ReadonlyArray<Taint>;
  readonly startupTaints?: ReadonlyArray<Taint>;
  readonly allocatable?: ResourceList;
  readonly claimAllocatable?: ResourceList;
  readonly deleting?: boolean;
}

const DEFAULTS = {
  pool: 'default',
  cpu: 4,
  initialized: true,
  labels: {},
  taints: [],
  claimTaints: [],
  startupTaints: [],
  deleting: false,
};

/** A node of ours with its claim: launched and registered, initialized unless told otherwise. */
export function ours(name: string, parts: Ours = {}) {
  const { cpu, initialized, taints, claimTaints, startupTaints, ...others } = { ...DEFAULTS, ...parts };
  const pooled = { [key.pool]: others.pool, [key.zone]: z1, ...others.labels };
  const ready = initialized ? { 'karpenter.sh/initialized': 'true' } : {};
  const plain = node(name, cpu, 4 * cpu, { ...pooled, 'karpenter.sh/registered': 'true', ...ready });
  const { allocatable = plain.status?.allocatable ?? {} } = parts;
  const gone = others.deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  const claim: NodeClaim = {
    metadata: { name: `${name}-claim`, labels: pooled, ...gone },
    spec: { nodeClassRef, requirements: [], taints: claimTaints, startupTaints },
    status: { providerID: `azure:///${name}`, nodeName: name, allocatable: parts.claimAllocatable ?? allocatable },
  };
  return {
    claim,
    node: {
      ...plain,
      metadata: { ...plain.metadata, ...gone },
      spec: { providerID: `azure:///${name}`, taints },
      status: { allocatable, capacity: allocatable },
    },
  };
}

/** The nodes and claims of several of ours, as parts of a situation. */
export function machines(...all: ReadonlyArray<ReturnType<typeof ours>>) {
  return { nodes: all.map((one) => one.node), nodeClaims: all.map(({ claim }) => claim) };
}
