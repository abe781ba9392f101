import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import {
  allowedZones,
  groupsOf,
  recordPod,
  toGrouped,
  type GroupedPod,
  type TopologyGroups,
} from './topology-group.ts';
import { toYardstickPod, type YardstickPod } from './yardstick-pod.ts';
import { toYardstickSizes, type YardstickSize } from './yardstick-size.ts';

/** A node that first-fit-decreasing opens: it stays every size that holds its pods until the end. */
interface Claim {
  readonly number: number;
  sizes: ReadonlyArray<YardstickSize>;
  zones: ReadonlyArray<string>;
  cpuM: number;
  memoryBytes: number;
  pods: number;
}

/** What the yardstick comes to. Cost in micro-USD per hour. */
export interface FirstFitPlan {
  readonly cost: number;
  readonly nodes: number;
  readonly left: number;
}

interface Run {
  readonly sizes: ReadonlyArray<YardstickSize>;
  readonly zones: ReadonlyArray<string>;
  readonly topology: TopologyGroups;
  /** Fewest pods first. */
  readonly claims: Array<Claim>;
}

interface Attempt {
  readonly grouped: GroupedPod;
  readonly zone: string | null;
}

/**
 * Karpenter's algorithm, in our words and for an empty cluster with one pool: pods by CPU, then memory; each onto the
 * open claim with the fewest pods that some size could still hold it on, else onto a new one, which may be any size. A
 * claim costs what the cheapest offering of the sizes left in it does. Preferences are dropped one by one.
 */
export function planFirstFit({ cluster, catalog, policy }: ProvisioningInput): FirstFitPlan {
  const [pool] = cluster.nodePools;
  const types = catalog.get(pool?.metadata.name ?? '') ?? [];
  const sizes = toYardstickSizes(types, pool?.spec.template.spec.requirements ?? []);
  const shapes = cluster.shapes.map((shape) => toYardstickPod(shape, policy.preferencePolicy));
  const pods = cluster.pods.map(({ shape }) => shapes[shape]).filter((pod) => pod !== undefined);
  const zones = [...new Set(sizes.flatMap(({ prices }) => [...prices.keys()]))].toSorted();
  const largestFirst = sizes.toSorted((a, b) => b.cpuM - a.cpuM);
  const run: Run = { sizes: largestFirst, zones, topology: groupsOf(shapes, zones), claims: [] };
  const attempts = new Map(shapes.map((pod) => [pod, attemptsFor(run, pod)]));
  let left = pods.toSorted((a, b) => b.cpuM - a.cpuM || b.memoryBytes - a.memoryBytes);
  for (let before = Infinity; left.length > 0 && left.length < before;) {
    before = left.length;
    left = left.filter((pod) => !(attempts.get(pod) ?? []).some((attempt) => add(run, pod, attempt)));
  }
  return {
    cost: run.claims.reduce((sum, claim) => sum + cheapest(claim), 0),
    nodes: run.claims.length,
    left: left.length,
  };
}

/** With all preferences first, then one fewer at a time: anti-affinity, heaviest first, and the zone last. */
function attemptsFor({ topology }: Run, pod: YardstickPod): ReadonlyArray<Attempt> {
  const levels = pod.preferred.map((_, dropped) => pod.preferred.slice(dropped));
  const zoned = [...levels, []].map((preferred) => ({
    grouped: toGrouped(topology, pod, [...pod.rules, ...preferred]),
    zone: pod.preferredZone,
  }));
  return pod.preferredZone === null ? zoned : [...zoned, { grouped: toGrouped(topology, pod, pod.rules), zone: null }];
}

function add(run: Run, pod: YardstickPod, attempt: Attempt): boolean {
  const { claims, zones, sizes } = run;
  const at = claims.findIndex((claim) => join(run, claim, pod, attempt));
  const claim = claims[at];
  if (claim !== undefined) {
    moveBack(claims, claim, at);
    return true;
  }
  const opened: Claim = { number: claims.length, sizes, zones, cpuM: 0, memoryBytes: 0, pods: 0 };
  if (!join(run, opened, pod, attempt)) return false;
  claims.push(opened);
  moveForward(claims);
  return true;
}

/** Keeps the claims in order of pods as a stable sort would, after one got a pod more. */
function moveBack(claims: Array<Claim>, claim: Claim, from: number): void {
  let at = from;
  for (let next = claims[at + 1]; next !== undefined && next.pods < claim.pods; next = claims[at + 1]) {
    claims[at] = next;
    at++;
  }
  claims[at] = claim;
}

function moveForward(claims: Array<Claim>): void {
  const claim = claims.pop();
  if (claim === undefined) return;
  const at = claims.findIndex(({ pods }) => pods > claim.pods);
  claims.splice(at === -1 ? claims.length : at, 0, claim);
}

function join({ zones: all }: Run, claim: Claim, pod: YardstickPod, { grouped, zone }: Attempt): boolean {
  const podZones = zone === null ? all : all.filter((one) => one === zone);
  const both = zone === null ? claim.zones : claim.zones.filter((one) => one === zone);
  if (both.length === 0) return false;
  const zones = allowedZones(grouped, claim.number, both, podZones);
  if (zones.length === 0) return false;
  const cpuM = claim.cpuM + pod.cpuM;
  const memoryBytes = claim.memoryBytes + pod.memoryBytes;
  const holds = (size: YardstickSize): boolean =>
    size.cpuM >= cpuM &&
    size.memoryBytes >= memoryBytes &&
    size.pods > claim.pods &&
    zones.some((one) => size.prices.has(one));
  const sizes = claim.sizes.filter(holds);
  if (sizes.length === 0) return false;
  Object.assign(claim, { sizes, zones, cpuM, memoryBytes, pods: claim.pods + 1 });
  recordPod(grouped, claim.number, zones);
  return true;
}

function cheapest({ sizes, zones }: Claim): number {
  return Math.min(...sizes.flatMap(({ prices }) => zones.map((zone) => prices.get(zone) ?? Infinity)));
}
