import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { isOwnClass } from '../../contract/own-class.ts';
import { isProvisionable } from '../../contract/snapshot/reduced/reduced-pod.ts';
import type { InstanceType } from '../../core/model/catalog.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { machineFacts } from '../facts/claim-facts.ts';
import { isTrue } from '../facts/conditions.ts';
import { alone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * One line about the whole cluster, once per sweep: what the portal draws over time, and what its alerts hold the other
 * lines against. Nothing but this says that pods wait while nothing is decided. What could not be read is null: no
 * other part of the line waits for it.
 */
export async function tellCluster(
  ports: Ports,
  snapshot: Snapshot | null,
  claims: ReadonlyArray<NodeClaim> | null,
): Promise<void> {
  const [heard, counts] = await Promise.all([
    alone(() => ports.snapshots.heartbeatMs()),
    claims === null ? UNKNOWN : countsOf(ports, claims),
  ]);
  const heardAtMs = heard.kind === 'done' ? heard.answer : null;
  const sinceMs = snapshot === null ? [] : waitingSince(snapshot);
  ports.log('cluster-seen', {
    relayHeardAgoMs: heardAtMs === null ? null : ports.now() - heardAtMs,
    waitingPods: sinceMs.length,
    longestWaitMs: sinceMs.length === 0 ? 0 : ports.now() - sinceMs.reduce((a, b) => Math.min(a, b)),
    claims: counts.claims,
    readyClaims: counts.readyClaims,
    spotClaims: counts.spotClaims,
    costMicroPerHour: counts.costMicroPerHour,
    currency: ports.catalogs.currency,
    unpricedClaims: counts.unpricedClaims,
  });
}

/** What is said of claims that could not be listed. */
const UNKNOWN = {
  claims: null,
  readyClaims: null,
  spotClaims: null,
  costMicroPerHour: null,
  unpricedClaims: null,
} as const;

async function countsOf(
  ports: Ports,
  claims: ReadonlyArray<NodeClaim>,
): Promise<Readonly<Record<keyof typeof UNKNOWN, number | null>>> {
  const own = claims.filter(({ spec }) => isOwnClass(spec.nodeClassRef));
  const cost = await alone(() => costOf(ports, own));
  return {
    claims: own.length,
    readyClaims: own.filter(({ status }) => isTrue(status?.conditions, 'Ready')).length,
    spotClaims: own.filter((claim) => machineFacts(claim).capacityType === 'spot').length,
    costMicroPerHour: cost.kind === 'done' ? cost.answer.microPerHour : null,
    unpricedClaims: cost.kind === 'done' ? cost.answer.unpriced : null,
  };
}

/** When each pod that waits for a node was created, milliseconds since the epoch. */
function waitingSince({ pods, shapes }: Snapshot): ReadonlyArray<number> {
  return pods
    .filter((pod) => {
      const shape = shapes[pod.shape];
      return shape !== undefined && !pod.deleting && isProvisionable(pod, shape);
    })
    .map(({ createdAtMs }) => createdAtMs);
}

/**
 * What the machines that have been launched cost together at today's list prices. `unpriced`: those not counted in it.
 */
async function costOf(
  ports: Ports,
  claims: ReadonlyArray<NodeClaim>,
): Promise<{ readonly microPerHour: number; readonly unpriced: number }> {
  const launched = claims.filter(({ status }) => isTrue(status?.conditions, 'Launched'));
  const byClass = Map.groupBy(launched, ({ spec }) => spec.nodeClassRef.name);
  const perClass = await Promise.all(
    [...byClass].map(async ([name, own]) => {
      const nodeClass = await ports.definitions.nodeClass(name);
      const types = nodeClass === null ? [] : await ports.catalogs.instanceTypes(nodeClass);
      const byName = new Map(types.map((type) => [type.name, type]));
      return own.map((claim) => priceOf(byName, claim));
    }),
  );
  const prices = perClass.flat();
  return {
    microPerHour: prices.reduce((sum: number, price) => sum + (price ?? 0), 0),
    unpriced: prices.filter((price) => price === null).length,
  };
}

/** Millionths of the currency per hour; null of a machine that the catalog no longer has. */
function priceOf(types: ReadonlyMap<string, InstanceType>, claim: NodeClaim): number | null {
  const { instanceType, zone, capacityType } = machineFacts(claim);
  const offerings = types.get(instanceType ?? '')?.offerings ?? [];
  return offerings.find((one) => one.zone === zone && one.capacityType === capacityType)?.price ?? null;
}
