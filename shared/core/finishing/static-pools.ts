import { DO_NOT_DISRUPT } from '../present/pending-pods.ts';
import type { Cluster, Pod } from '../model/cluster.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { Plan, PlannedClaim } from '../model/plan.ts';
import { plainCostOf, weighedCostOf } from '../model/weighed-cost.ts';
import { microUsdPerHour } from '../quantity/units.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import { balanceZones } from '../placing/together/balance-zones.ts';
import { at } from '../quantity/at.ts';
import { capacityOf, lowestBit, weighsRisk } from '../offerings/compile-pool.ts';
import { isLeaving, machinesOf, type Machine } from '../present/existing-capacity.ts';
import { cheaperExplainer } from '../telling/cheaper/explain-cheaper.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import {
  settleOn,
  emptyClaim,
  offeringsAt,
  plainPriceOf,
  type ChosenOffering,
  type OpenClaim,
} from '../placing/state/open-claim.ts';
import { MARKETS_MAX } from '../offerings/compile-types.ts';
import type { PoolState } from '../offerings/pool-state.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { renderClaims } from '../telling/claims/render-claim.ts';
import { compileInput, workspaceFor } from '../placing/state/workspace.ts';

/**
 * The plan with the claims that static pools lack. They cost what they cost, whatever the pods: they are part of the
 * bound too.
 */
export function withStaticPools(plan: Plan, input: ProvisioningInput): Plan {
  const { claims, leastCost } = planStaticPools(input);
  const weighed = weighedCostOf(claims);
  return {
    ...plan,
    claims: [...plan.claims, ...claims],
    cost: microUsdPerHour(plan.cost + plainCostOf(claims)),
    lowerBound: microUsdPerHour(plan.lowerBound + leastCost),
    weighed: {
      cost: microUsdPerHour(plan.weighed.cost + weighed),
      lowerBound: microUsdPerHour(plan.weighed.lowerBound + weighed),
    },
  };
}

/** Claims, and what no others in their place could cost less than, without risk, in micro-USD per hour. */
export interface StaticClaims {
  readonly claims: ReadonlyArray<PlannedClaim>;
  readonly leastCost: number;
}

/**
 * The claims that static pools lack: as many as bring each to `spec.replicas`, within its limit of nodes. Each counts
 * as the least that the pool allows; zones are evened out. A machine that is leaving no longer counts, so its successor
 * is made while it drains, and none that is not leaving is made twice.
 */
export function planStaticPools(input: ProvisioningInput): StaticClaims {
  const short = staticPools(input).filter((pool) => missingNodes(input, pool) > 0);
  if (short.length === 0) return { claims: [], leastCost: 0 };
  const missing = new Map(short.map((pool) => [pool.metadata.name, missingNodes(input, pool)]));
  // Without its replicas a pool is one like any other, and compiled as such.
  const nodePools = short.map((pool) => ({ ...pool, spec: withoutReplicas(pool.spec) }));
  const workspace = workspaceFor(compileInput({ ...input, cluster: { ...input.cluster, nodePools } }, []));
  const width = workspace.dimensions.names.length;
  for (const state of workspace.pools) {
    for (let node = 0; node < (missing.get(state.pool.name) ?? 0); node++) openPlain(workspace.claims, state, width);
  }
  balanceZones(workspace);
  const leastCost = workspace.claims.reduce((sum, claim) => sum + leastPlainPrice(claim), 0);
  return { claims: renderClaims(workspace, cheaperExplainer(workspace)), leastCost };
}

/** Is there a static pool that wants more nodes than it has? Cheap enough to ask at every look. */
export function lacksStaticNodes(input: ProvisioningInput): boolean {
  return staticPools(input).some((pool) => missingNodes(input, pool) > 0);
}

function openPlain(claims: Array<OpenClaim>, state: PoolState, width: number): void {
  const claim = emptyClaim(state, width, false);
  const chosen = cheapestOf(claim);
  if (chosen === null) return;
  settleOn(claim, { chosen, booked: capacityOf(state.pool, chosen.type) });
  claims.push(claim);
}

/** The first in order of all that have room for the daemons; null when none has. */
function cheapestOf(claim: OpenClaim): ChosenOffering | null {
  const { pool } = claim.state;
  let best: ChosenOffering | null = null;
  for (const type of pool.order) {
    const shunned = pool.shunned[type] === 1;
    if (best !== null && (best.shunned !== shunned || at(pool.lowestWeighed, type) >= best.price)) break;
    const mask = usableBits(claim, type);
    const prices = pool.catalog.types[type]?.weighedPrices ?? new Float64Array();
    for (let bit = 0; bit < MARKETS_MAX; bit++) {
      const price = at(prices, bit);
      if (((mask >> bit) & 1) === 1 && price < (best?.price ?? Infinity)) best = { type, bit, price, shunned };
    }
  }
  return best;
}

/** Reservations are for pods: which of a fixed number of nodes took them would be chance. */
function usableBits(claim: OpenClaim, type: number): number {
  return offeringsAt(claim, type) & ~claim.state.pool.catalog.reservedBits;
}

/** The lowest price, without risk, of what the claim could be; of shunned sizes only where it is of one. */
function leastPlainPrice(claim: OpenClaim): number {
  const { pool } = claim.state;
  if (!weighsRisk(pool)) return plainPriceOf(claim);
  let least = plainPriceOf(claim);
  for (const type of pool.order) {
    if (pool.shunned[type] === 1 && claim.chosen?.shunned === false) continue;
    const prices = pool.catalog.types[type]?.plainPrices ?? new Float64Array();
    for (let left = usableBits(claim, type); left !== 0; left &= left - 1) {
      least = Math.min(least, at(prices, lowestBit(left)));
    }
  }
  return least;
}

function withoutReplicas(spec: NodePool['spec']): NodePool['spec'] {
  const { replicas: _, ...others } = spec;
  return others;
}

function staticPools({ cluster, policy, catalog }: ProvisioningInput): ReadonlyArray<NodePool> {
  if (!policy.gates.staticCapacity) return [];
  return cluster.nodePools.filter(({ metadata, spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    const usable = metadata.deletionTimestamp === undefined && (ready === undefined || ready.status === 'True');
    return spec.replicas !== undefined && usable && catalog.has(metadata.name);
  });
}

function missingNodes({ cluster }: ProvisioningInput, pool: NodePool): number {
  return mostNodes(pool) - activeMachines(cluster, pool.metadata.name).length;
}

/** How many nodes the pool may have; Infinity for as many as somebody wants. */
export function nodeLimit({ spec }: NodePool): number {
  return parseAmounts(spec.limits, 'down').get('nodes') ?? Infinity;
}

/** How many a static pool is to have, within its limit. */
export function mostNodes(pool: NodePool): number {
  return Math.min(pool.spec.replicas ?? 0, nodeLimit(pool));
}

function activeMachines(cluster: Cluster, pool: string): ReadonlyArray<Machine> {
  return machinesOf(cluster).filter(
    (machine) => (machine.claim ?? machine.node)?.metadata.labels?.[labelKey.nodePool] === pool && !isLeaving(machine),
  );
}

/**
 * Names of the claims that static pools have too many of, in the order in which they can best be spared: those that
 * have no machine yet, empty nodes, nodes by the number of their pods, and last those with a pod that must not be
 * disrupted.
 */
export function surplusClaims(cluster: Cluster): ReadonlyArray<string> {
  const pods = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName);
  return cluster.nodePools.flatMap(({ metadata, spec }) => {
    if (spec.replicas === undefined) return [];
    const claims = activeMachines(cluster, metadata.name).filter(({ claim }) => claim !== null);
    const ranked = claims
      .map((machine) => ({ machine, cost: costOfLosing(cluster, machine, pods) }))
      .toSorted((a, b) => a.cost - b.cost || byCodeUnit(nameOf(a.machine), nameOf(b.machine)));
    return ranked.slice(0, Math.max(0, claims.length - spec.replicas)).map(({ machine }) => nameOf(machine));
  });
}

function nameOf({ claim }: Machine): string {
  return claim?.metadata.name ?? '';
}

/**
 * Below 0: no machine yet. 0: empty. Else its pods that have to move; more than any number of them when one must not.
 */
function costOfLosing(
  { shapes }: Cluster,
  { node, claim }: Machine,
  pods: ReadonlyMap<string | null, ReadonlyArray<Pod>>,
): number {
  if (claim?.status?.providerID === undefined) return -1;
  const there = (node === null ? [] : (pods.get(node.metadata.name) ?? [])).map(({ shape }) => shapes[shape]);
  if (there.some((shape) => shape?.annotations[DO_NOT_DISRUPT] === 'true')) return Infinity;
  return there.filter((shape) => shape?.owner?.kind !== 'DaemonSet' && shape?.owner?.kind !== 'Node').length;
}
