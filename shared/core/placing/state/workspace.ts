import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import { labelKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import type { Amounts } from '../../../kubernetes/text/quantity.ts';
import { addExclusions, toTerms, type NeedTerms } from './need-terms.ts';
import { regionalBits, zonesFirst } from './zones-first.ts';
import { constraintLevels, type PodConstraints } from '../../rules/pod-constraints.ts';
import { existingNodesOf, type ExistingNode } from './existing-nodes.ts';
import { countBound, eachShapeOn, type PodCounts } from '../../present/bound-pods.ts';
import { isOpenKey } from '../../offerings/compile-pool.ts';
import { compileShape, kindOf, optionsOn, type Need, type CompiledShape, type PoolOption } from './compile-shape.ts';
import { daemonsOf } from '../../rules/daemons.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { deviceStateFor, type DeviceState } from './device-state.ts';
import { existingCapacity, machineLabels, type ExistingCapacity } from '../../present/existing-capacity.ts';
import { domainsOn } from '../../offerings/key-source.ts';
import { settleAsChosen, settledValue, type OpenClaim } from './open-claim.ts';
import type { GuardRules } from './topology-guard.ts';
import { podRequests } from '../../rules/pod-requests.ts';
import { poolStates, usablePools, type UsablePool, type PoolState } from '../../offerings/pool-state.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { dimensionsOf, type Dimensions } from '../../quantity/resource-table.ts';
import { namesRegional } from '../../rules/placement-scope.ts';
import { untolerated } from '../../rules/taints.ts';
import {
  countersFor,
  emptyTopology,
  exclusionsFor,
  filteredKeys,
  filterId,
  passesFilter,
  recordOnClaim,
  recordOnNode,
  settledKeys,
} from './topology.ts';
import type { NodeFilter, Topology } from './topology.ts';

/**
 * Existing nodes that may still have room for a need and are alike to its topology rules, hosts aside: one answer is
 * for all of them. In order, by their place among all existing nodes; those found full are dropped for good.
 */
export interface NodeBucket {
  readonly labels: ExistingNode['capacity']['labels'];
  readonly places: Array<number>;
}

/** One plan in the making: what was read once, and what placing changes. */
export interface Workspace {
  readonly input: ProvisioningInput;
  readonly dimensions: Dimensions;
  readonly pools: ReadonlyArray<PoolState>;
  readonly nodes: ReadonlyArray<ExistingNode>;
  readonly topology: Topology;
  /** In the order in which they were opened. */
  readonly claims: Array<OpenClaim>;
  /** By index into `Cluster.shapes`: the shapes of the pods to place. */
  readonly shapes: ReadonlyMap<number, CompiledShape>;
  /** By index of shape: what its pods need, from all preferences to none. */
  readonly needs: ReadonlyMap<number, ReadonlyArray<Need>>;
  /** Existing nodes that may have room for a need, found on demand. */
  readonly roomy: Map<Need, ReadonlyArray<NodeBucket>>;
  /** The answers of `optionsFor` so far. */
  readonly options: Map<string, Map<PoolState, ReadonlyArray<PoolOption>>>;
  /** The topology rules of needs, sorted for guards, so far. */
  readonly guards: Map<Need, GuardRules>;
  /** Null where no pod has resource claims that are planned for. */
  readonly devices: DeviceState | null;
}

/** What every way to place the same pods reads alike, worked out once. */
export interface CompiledInput {
  readonly input: ProvisioningInput;
  /** The pods to place. */
  readonly pods: ReadonlyArray<Pod>;
  /** All pods on nodes, those to place that are on one included. */
  readonly bound: PodCounts;
  readonly dimensions: Dimensions;
  readonly existing: ReadonlyArray<ExistingCapacity>;
  readonly pools: ReadonlyArray<UsablePool>;
  /** By index into `Cluster.shapes`: the shapes of the pods to place. */
  readonly shapes: ReadonlyMap<number, CompiledShape>;
}

/** Reads `input` for placing `pods`. `later`: shapes of pods that are to be placed after them, by `extendWorkspace`. */
export function compileInput(
  input: ProvisioningInput,
  pods: ReadonlyArray<Pod>,
  later: ReadonlyArray<PodShape> = [],
): CompiledInput {
  const { cluster } = input;
  const read = readShapes(cluster, pods);
  const dimensions = dimensionsOf([
    ...read.map(({ amounts }) => amounts),
    ...later.map(({ spec }) => podRequests(spec)),
  ]);
  const plansDevices = input.devices.kind === 'planned';
  // As in Karpenter, daemons that ask for devices do not count while those are ignored.
  const daemons = daemonsOf(cluster).filter(({ spec }) => plansDevices || !hasDeviceClaims(spec));
  const bound = countBound(cluster.pods);
  const existing = existingCapacity(input, daemons, bound);
  return {
    input,
    pods,
    bound,
    dimensions,
    existing,
    pools: usablePools(input, dimensions, daemons, existing),
    shapes: new Map(read.map((one) => [one.index, compileShape(cluster, one.index, one, dimensions)])),
  };
}

/** A plan in which nothing is placed yet. */
export function workspaceFor(compiled: CompiledInput): Workspace {
  const { input, pods, bound, dimensions, existing, shapes } = compiled;
  const topology = emptyTopology(input.cluster);
  const pools = poolStates(compiled.pools);
  const needs = needsOf(input, topology, shapes, { pools, existing });
  recordRunning(compiled, topology);
  return {
    input,
    dimensions,
    pools,
    nodes: existingNodesOf(existing, input.cluster, bound, dimensions),
    topology,
    claims: [],
    shapes,
    needs,
    roomy: new Map(),
    options: new Map(),
    guards: new Map(),
    devices: deviceStateFor(input, pods, existing),
  };
}

interface ShapeRequests {
  readonly index: number;
  readonly shape: PodShape;
  readonly amounts: Amounts;
}

function readShapes({ shapes }: Cluster, pods: ReadonlyArray<Pod>): ReadonlyArray<ShapeRequests> {
  const used = [...new Set(pods.map(({ shape }) => shape))].toSorted((a, b) => a - b);
  return used.flatMap((index) => {
    const shape = shapes[index];
    return shape === undefined ? [] : [{ index, shape, amounts: podRequests(shape.spec) }];
  });
}

/**
 * The workspace for placing `more` after the pods of `compiled`, which are where they are. Nothing that was placed
 * knows of rules of these later pods: what they look at is fixed on open claims as it is chosen now. `before` is not
 * used any more.
 */
export function extendWorkspace(before: Workspace, compiled: CompiledInput, more: ReadonlyArray<Pod>): Workspace {
  const { input, pods, existing } = compiled;
  const { dimensions, pools, nodes, claims } = before;
  const read = readShapes(input.cluster, [...pods, ...more]);
  const shapes = new Map(read.map((one) => [one.index, compileShape(input.cluster, one.index, one, dimensions)]));
  const topology = emptyTopology(input.cluster);
  const needs = needsOf(input, topology, shapes, { pools, existing });
  recordRunning(compiled, topology);
  for (const node of nodes) for (const { shape } of node.pods) recordOnNode(topology, shape, node.capacity, 1);
  for (const claim of claims) {
    claim.onHost.length = 0;
    for (const { shape } of claim.pods) {
      const need = needs.get(shape)?.at(-1);
      if (need !== undefined) settleAsChosen(claim, need);
    }
    for (const { shape } of claim.pods) {
      recordOnClaim(topology, shape, claim, (key) => settledValue(claim, key));
    }
  }
  return { ...before, input, shapes, needs, topology, roomy: new Map(), guards: new Map() };
}

/** How the need can be met on new nodes of the pool, worked out once per kind of need. */
export function optionsFor(workspace: Workspace, state: PoolState, need: Need): ReadonlyArray<PoolOption> {
  const known = workspace.options.get(need.kind)?.get(state);
  if (known !== undefined) return known;
  const inZones = need.keepsToZones && !namesRegional(state.pool.manifest);
  const options = optionsOn(state, need, inZones ? ~regionalBits(state.pool.catalog) : -1);
  const ofKind = workspace.options.get(need.kind) ?? new Map<PoolState, ReadonlyArray<PoolOption>>();
  workspace.options.set(need.kind, ofKind.set(state, options));
  return options;
}

interface Places {
  readonly pools: ReadonlyArray<PoolState>;
  readonly existing: ReadonlyArray<ExistingCapacity>;
}

/** All counters are made before any need is finished, since a pod must know every rule that looks at it. */
function needsOf(
  input: ProvisioningInput,
  topology: Topology,
  shapes: ReadonlyMap<number, CompiledShape>,
  places: Places,
): ReadonlyMap<number, ReadonlyArray<Need>> {
  const softTaints = places.pools.some(({ pool }) => pool.taints.some(({ effect }) => effect === 'PreferNoSchedule'));
  const leveled = [...shapes.values()].map((shape) => ({
    shape,
    levels: constraintLevels(shape.shape.spec, input.policy, softTaints),
  }));
  const named = valuesNamed(leveled.flatMap(({ levels }) => levels));
  const zones = zonesFirst(
    places.pools,
    leveled.map(({ shape, levels }) => levels.map((constraints) => ({ shape, constraints }))),
  );
  const known = new Map<string, ReadonlyArray<string>>();
  const domains = (key: string, filter: NodeFilter | null, withRegional: boolean): ReadonlyArray<string> => {
    const id = `${key} ${withRegional} ${filter === null ? '' : JSON.stringify(filterId(filter))}`;
    const found = known.get(id) ?? domainsOf(places, { key, withRegional, named: named.get(key) ?? [] }, filter);
    known.set(id, found);
    return found;
  };
  input.cluster.shapes.forEach((shape, index) => addExclusions(topology, shape, index));
  // Equal texts are one string, so that looking one up compares no characters.
  const kinds = new Map<string, string>();
  const drafts = leveled.map(({ shape, levels }) => ({
    shape,
    levels: levels.map((constraints) => ({
      constraints,
      terms: toTerms(topology, shape.shape, shape.index, {
        constraints,
        domains: (key, filter, hard) =>
          domains(key, filter, key !== labelKey.zone || zones.countsRegional({ shape, constraints }, hard)),
      }),
    })),
  }));
  for (const { key } of [...topology.counters.values(), ...topology.exclusions.values()]) {
    if (places.pools.some(({ pool }) => isOpenKey(pool, key))) topology.known.set(key, domains(key, null, true));
  }
  return new Map(
    drafts.map(({ shape, levels }) => {
      const exclusions = exclusionsFor(topology, shape.index);
      const counters = countersFor(topology, shape.index);
      const settled = settledKeys([...counters, ...exclusions]);
      const counted = counters.length > 0;
      const common = { shape, exclusions, settled, filtered: filteredKeys(counters), counted };
      const base = kindOf(shape);
      const kindWith = (constraints: PodConstraints): string => {
        const text = `${base} ${constraintsId(constraints)}`;
        const kind = kinds.get(text) ?? text;
        kinds.set(kind, kind);
        return kind;
      };
      return [
        shape.index,
        levels.map(({ constraints, terms }) => {
          const keepsToZones = zones.keepsToZones({ shape, constraints }, spreadsOverRegional(terms));
          const kind = keepsToZones ? `${kindWith(constraints)} in zones` : kindWith(constraints);
          return { ...common, constraints, terms, keepsToZones, kind };
        }),
      ];
    }),
  );
}

/** By key: the values of labels that pods ask for by name. */
function valuesNamed(levels: ReadonlyArray<PodConstraints>): ReadonlyMap<string, ReadonlySet<string>> {
  const named = new Map<string, Set<string>>();
  for (const rules of levels.flatMap(({ alternatives }) => alternatives)) {
    for (const [key, rule] of rules) {
      if (rule.complement) continue;
      const values = named.get(key) ?? new Set<string>();
      named.set(key, values);
      for (const value of rule.values) values.add(value);
    }
  }
  return named;
}

/** What tells constraints on nodes apart. */
function constraintsId({ alternatives, avoidsSoftTaints }: PodConstraints): string {
  return JSON.stringify(filterId({ alternatives, tolerations: null })) + String(avoidsSoftTaints);
}

/** Is "no zone" a place that some spread of the need keeps even? */
function spreadsOverRegional({ spread }: NeedTerms): boolean {
  return spread.some(({ counter, domains }) => counter.key === labelKey.zone && domains.includes(REGIONAL_ZONE));
}

interface WantedDomains {
  readonly key: string;
  /** Does "no zone" count where pools offer zones, too? */
  readonly withRegional: boolean;
  /** Values of the key that pods name. */
  readonly named: Iterable<string>;
}

/**
 * Where pods of a spread can be: what pools can offer, and what nodes have. A pool whose taints count must tolerate
 * them.
 */
function domainsOf(
  { pools, existing }: Places,
  { key, withRegional, named }: WantedDomains,
  filter: NodeFilter | null,
): ReadonlyArray<string> {
  const { tolerations, alternatives } = filter ?? { tolerations: null, alternatives: null };
  const domains = new Set<string>();
  for (const { pool } of pools) {
    if (tolerations !== null && untolerated(tolerations, pool.taints, false) !== null) continue;
    for (const domain of domainsOn(pool, key, { named, alternatives })) domains.add(domain);
  }
  if (!withRegional && domains.size > 1) domains.delete(REGIONAL_ZONE);
  for (const capacity of existing) {
    const domain = capacity.labels[key];
    if (domain !== undefined && passesFilter(filter, capacity)) domains.add(domain);
  }
  return [...domains].toSorted();
}

/** Pods that a plan places are not counted where they are now; neither are pods that are going. */
function recordRunning({ input, existing, bound, pods: placed }: CompiledInput, topology: Topology): void {
  const nodes = machineLabels(input, existing);
  const record = (pods: PodCounts, sign: 1 | -1): void => {
    for (const name of pods.nodes.keys()) {
      const node = nodes.get(name);
      if (node !== undefined)
        eachShapeOn(pods, name, (shape, count) => recordOnNode(topology, shape, node, sign * count));
    }
  };
  record(bound, 1);
  const going = [...input.cluster.pods.filter(({ deleting }) => deleting), ...placed.filter((pod) => !pod.deleting)];
  record(countBound(going), -1);
}

/** What the claims count as together, risk included, in micro-USD per hour, each as its cheapest chosen. */
export function costOf(claims: Workspace['claims']): number {
  return claims.reduce((sum, { chosen }) => sum + (chosen?.price ?? 0), 0);
}
