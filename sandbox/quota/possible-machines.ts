import { type Sku, toSku } from '../../shared/adapters/azure/catalog/sku.ts';
import { launchCandidates } from '../../shared/core/launch/launch-candidates.ts';
import type { InstanceType } from '../../shared/core/model/catalog.ts';
import { isTypeLevelKey, labelKey, normalizeKey } from '../../shared/kubernetes/labels.ts';
import type { NodeClaim, NodePool, PodSpec } from '../../shared/kubernetes/manifest.ts';
import { allocatableOf } from '../../shared/core/model/allocatable.ts';
import { type Amounts, parseAmounts, renderAmounts } from '../../shared/kubernetes/text/quantity.ts';
import {
  addRule,
  admits,
  isEmpty,
  type LabelRule,
  type LabelRules,
  oneOf,
  toExpressions,
  toRules,
} from '../../shared/core/rules/label-rule.ts';
import { podRequests } from '../../shared/core/rules/pod-requests.ts';
import { isOwnPool } from '../../shared/contract/own-class.ts';
import { poolObstacle } from '../../shared/core/offerings/pool-state.ts';
import { requiredAlternatives } from '../../shared/core/rules/pod-rules.ts';
import { untolerated } from '../../shared/core/rules/taints.ts';
import { DEFAULT_EVICTION_COST_MS } from '../../shared/core/offerings/weighed-price.ts';
import type { NodeClass } from '../../shared/ports/kubernetes.ts';
import type { Size } from '../azure/catalog/sizes.ts';

/** A machine that could hold a pod if Azure gave it. */
export interface PossibleMachine {
  readonly sku: Sku;
  /** `westeurope-1`; `0` for none. */
  readonly zone: string;
  readonly capacityType: 'spot' | 'on-demand';
  /** How many such pods it holds, by what they request alone; at least one. */
  readonly holds: number;
}

/** What nodes may be made, as the cluster has it now. */
export interface PoolsAndClasses {
  readonly pools: Iterable<NodePool>;
  /** By name. */
  readonly classes: ReadonlyMap<string, NodeClass>;
}

/**
 * The region's sizes as the product reads them from Azure's list, which `listed` is in the wire's form, without what is
 * withheld from the subscription.
 */
export function toSkus(
  listed: ReadonlyArray<object>,
  sizes: ReadonlyMap<string, Size>,
  region: string,
): ReadonlyArray<Sku> {
  return listed.flatMap((raw) => {
    const sku = toSku(raw, region);
    const prices = sizes.get(sku?.name.toLowerCase() ?? '');
    if (sku === null || prices === undefined) return [];
    return [{ ...sku, onDemandMicroUsd: prices.onDemandMicroUsd, spotMicroUsd: prices.spotMicroUsd }];
  });
}

/**
 * The machines that some NodePool allows for a pod and that hold it, cheapest first pool by pool, as the product would
 * try them, whatever is sold out or refused. Daemonsets and limits are left aside. `typesOf` has the sizes as nodes of
 * a class.
 */
export function possibleMachines(
  spec: PodSpec,
  { pools, classes }: PoolsAndClasses,
  skus: ReadonlyMap<string, Sku>,
  typesOf: (nodeClass: NodeClass) => ReadonlyArray<InstanceType>,
): ReadonlyArray<PossibleMachine> {
  return [...pools].filter(isOwnPool).flatMap((pool) => {
    const nodeClass = classes.get(pool.spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined || !isTolerated(spec, pool)) return [];
    const types = typesOf(nodeClass);
    if (poolObstacle(pool, { catalog: new Map([[pool.metadata.name, types]]) }) !== null) return [];
    return requiredAlternatives(spec).flatMap((rules) => machinesOf(pool, rules, spec, types, skus));
  });
}

function isTolerated(spec: PodSpec, { spec: { template } }: NodePool): boolean {
  return untolerated(spec.tolerations ?? [], template.spec.taints ?? [], false) === null;
}

function machinesOf(
  pool: NodePool,
  wanted: LabelRules,
  spec: PodSpec,
  types: ReadonlyArray<InstanceType>,
  skus: ReadonlyMap<string, Sku>,
): ReadonlyArray<PossibleMachine> {
  const rules = joined(pool, wanted, types);
  if (rules === null) return [];
  const { template } = pool.spec;
  const requests = podRequests(spec);
  const claim: NodeClaim = {
    metadata: { name: 'machine' },
    spec: {
      nodeClassRef: template.spec.nodeClassRef,
      requirements: [...rules].flatMap(([key, rule]) => [...toExpressions(key, rule)]),
      resources: { requests: renderAmounts(requests) },
    },
  };
  const typeOf = new Map(types.map((type) => [type.name, type]));
  const held = new Map<string, number>();
  return launchCandidates(claim, types, [], DEFAULT_EVICTION_COST_MS).flatMap(
    ({ instanceType, zone, capacityType }) => {
      const [sku, type] = [skus.get(instanceType), typeOf.get(instanceType)];
      if (sku === undefined || type === undefined || capacityType === 'reserved') return [];
      const holds = held.get(instanceType) ?? podsHeld(type, requests);
      held.set(instanceType, holds);
      return [{ sku, zone, capacityType, holds }];
    },
  );
}

function podsHeld(type: InstanceType, requests: Amounts): number {
  const allocatable = parseAmounts(allocatableOf(type), 'down');
  const shares = [...requests]
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => (allocatable.get(name) ?? 0) / amount);
  return Math.max(1, Math.floor(Math.min(...shares)));
}

/** What pool and pod ask together; null where they cannot have the same node. */
function joined(
  { spec: { template } }: NodePool,
  wanted: LabelRules,
  types: ReadonlyArray<InstanceType>,
): LabelRules | null {
  const rules = new Map<string, LabelRule>();
  for (const [key, rule] of toRules(template.spec.requirements)) addRule(rules, normalizeKey(key), rule);
  for (const [key, value] of Object.entries(template.metadata?.labels ?? {})) {
    addRule(rules, normalizeKey(key), oneOf([value]));
  }
  for (const [key, rule] of wanted) {
    // A label that neither Azure nor the pool gives is on no node of the pool.
    if (!rules.has(key) && !isGivenByAzure(key, types) && !admits(rule, undefined)) return null;
    addRule(rules, key, rule);
  }
  return [...rules.values()].some(isEmpty) ? null : rules;
}

function isGivenByAzure(key: string, [first]: ReadonlyArray<InstanceType>): boolean {
  if (key === labelKey.zone || key === labelKey.capacityType || isTypeLevelKey(key)) return true;
  return (
    first !== undefined && (Object.hasOwn(first.labels, key) || Object.hasOwn(first.offerings[0]?.labels ?? {}, key))
  );
}
