import type { Pod } from './model/cluster.ts';
import type { LeftPod, Nomination, Plan, PlannedBuffer, PodReference } from './model/plan.ts';
import { plainCostOf, weighedCostOf } from './model/weighed-cost.ts';
import { microUsdPerHour, type Instant } from './quantity/units.ts';
import { balanceZones } from './placing/together/balance-zones.ts';
import { isBufferPod, withBufferShapes, type BufferedInput, type BufferPods } from './present/buffer-pods.ts';
import { withShare, type Work } from './packing/problem/work.ts';
import { placeInBulk, type SolvedProblem } from './placing/together/bulk.ts';
import { trimUneven } from './placing/together/bulk-trim.ts';
import { bulkRuleOf, dealOut, type BulkGroup, type BulkRule } from './placing/together/bulk-groups.ts';
import { cheaperExplainer } from './telling/cheaper/explain-cheaper.ts';
import { withDefaultSpread } from './rules/default-spread.ts';
import { hasDeviceClaims } from './devices/device-claims.ts';
import { deviceAssignments } from './telling/claims/device-assignments.ts';
import { fillExisting } from './placing/together/fill-existing.ts';
import { explainLeft } from './telling/reasons/explain.ts';
import { byCodeUnit } from './rules/label-rule.ts';
import { lowerBounds } from './bound/lower-bound.ts';
import { mergeClaims } from './placing/together/merge-claims.ts';
import { overlaidCatalog } from './offerings/overlays.ts';
import { pendingPods } from './present/pending-pods.ts';
import {
  fillHoles,
  isUnruled,
  place,
  placeInRounds,
  placeOnAnyBin,
  queueFor,
  type Queue,
} from './placing/one-by-one/place.ts';
import { atRealPrices } from './placing/fewest/at-real-prices.ts';
import { findFewestLeft } from './placing/fewest/fewest-left.ts';
import { lastComers, needsNoOrder } from './placing/one-by-one/needs-no-order.ts';
import { compareLeft, leftByPriority, type LeftByPriority } from './placing/one-by-one/left-pods.ts';
import { placeByTerm } from './placing/one-by-one/place-by-term.ts';
import { placeWithDevices } from './placing/one-by-one/place-with-devices.ts';
import { keepPromises } from './placing/one-by-one/promises.ts';
import type { ProvisioningInput } from './model/provisioning-input.ts';
import { podName } from './placing/state/pod-name.ts';
import { largestFirst } from './placing/state/pod-order.ts';
import { renderClaims } from './telling/claims/render-claim.ts';
import { reservedCatalog } from './offerings/reservations.ts';
import { planStaticPools } from './finishing/static-pools.ts';
import { withinQuota } from './finishing/within-quota.ts';
import {
  costOf,
  extendWorkspace,
  readInput,
  workspaceFor,
  type Reading,
  type Workspace,
} from './placing/state/workspace.ts';

/**
 * Decides where every pending pod goes: capacity that exists or is on its way, or new claims at the lowest weighed price found,
 * or nowhere, with reasons; and which nodes static pools lack. Pure: the same input gives the same plan, whatever the order of its lists.
 */
export function planProvisioning(given: ProvisioningInput, now: Instant): Plan {
  const overlaid = { ...given, catalog: overlaidCatalog(given) };
  const input = withDefaultSpread({ ...overlaid, catalog: reservedCatalog(overlaid) });
  return withinQuota(withStaticPools(planPods(input, now), input), input);
}

/** What static pools lack costs what it costs, whatever the pods: it is part of the bound too. */
function withStaticPools(plan: Plan, input: ProvisioningInput): Plan {
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

function planPods(input: ProvisioningInput, now: Instant): Plan {
  const buffered = withBufferShapes(input);
  const later = buffered.input.cluster.shapes.slice(input.cluster.shapes.length);
  const reading = readInput(input, pendingPods(input.cluster, input.inFlight, now), later);
  const first = placeInOrder(reading, 'one-by-one-first');
  const isOne = !first.isMixed || reading.pods.length > BOTH_ORDERS_MAX;
  const cheapest = isOne ? first : cheaper(first, placeInOrder(reading, 'packed-first'));
  const best = cheapest.left.length === 0 ? cheapest : withFewestLeft(reading, cheapest);
  return buffered.buffers.length === 0 ? toPlan(best, NO_BUFFERS) : planWithBuffers(best, reading, buffered);
}

/**
 * Pods whose rules look at other pods are placed one by one, all others packed together. Whoever comes first opens
 * nodes that suit it and leaves the other what is over, so where both are there both orders are tried.
 */
type Order = (typeof ORDERS)[number];

const ORDERS = ['one-by-one-first', 'packed-first'] as const;

/** Of all the work that is allowed, what packing may take where pods are placed one by one too: there are two orders then. */
const MIXED_SHARE = 0.3;

/** However much work packing took, the proof may take this share of all that is allowed. */
const PROOF_SHARE = 0.2;

/** Two plans for more pods than this cost more time than the second is likely to save: 2,000 mixed ones take a second. */
const BOTH_ORDERS_MAX = 2_000;

/** Where pods went, before it is told: only the better of two is worked out to a plan with its reasons. */
interface Placed {
  readonly workspace: Workspace;
  readonly left: ReadonlyArray<Pod>;
  readonly isMixed: boolean;
  /** What the proof of the bound starts from, and the work that it may take. */
  readonly solved: ReadonlyArray<SolvedProblem>;
  readonly proof: Work;
}

/** The one that leaves less; of two that leave as much, the cheaper; then the one with fewer nodes; else the first. */
function cheaper(first: Placed, second: Placed): Placed {
  const difference = compareLeft(leftOf(second), leftOf(first));
  if (difference !== 0) return difference < 0 ? second : first;
  const [one, other] = [first.workspace.claims, second.workspace.claims];
  const more = costOf(other) - costOf(one) || other.length - one.length;
  return more < 0 ? second : first;
}

function leftOf({ workspace, left }: Placed): LeftByPriority {
  return leftByPriority(workspace, left);
}

/** What looking for places for pods that the cheapest plan left may take of all the work that is allowed. */
const FEWEST_SHARE = 0.1;

/** And what packing may take then, each time. */
const AGAIN_SHARE = 0.2;

/**
 * Where the cheapest plan left pods that others' room would hold: the least that can be left, whatever it costs; and that
 * planned once more, so that it costs no more than it must and heeds preferences.
 */
function withFewestLeft(reading: Reading, cheapest: Placed): Placed {
  if (cheapest.workspace.devices !== null) return cheapest;
  const work = { left: reading.input.work.steps * FEWEST_SHARE };
  const found = findFewestLeft(reading, leftOf(cheapest), work);
  if (found === null) return cheapest;
  const workspace = atRealPrices(reading, found);
  const left = placeByTerm(workspace, placeAll(workspace, found.left));
  balanceZones(workspace);
  const fewest = { ...cheapest, workspace, left, solved: [] };
  const orders: ReadonlyArray<Order> = cheapest.isMixed ? ORDERS : [ORDERS[0]];
  const again = orders
    .map((order) => placeInOrder(reading, order, { pods: new Set(left), share: AGAIN_SHARE }))
    .reduce((a, b) => cheaper(a, b));
  const difference = compareLeft(leftOf(again), leftOf(fewest));
  if (difference !== 0) return difference < 0 ? again : fewest;
  return !found.needsNoOrder || needsNoOrder(again.workspace, lastComers(again.workspace)) ? again : fewest;
}

/** Pods that come after all others, and what packing the others may take of all the work that is allowed. */
interface Later {
  readonly pods: ReadonlySet<Pod>;
  readonly share: number;
}

const NONE_LATER: Later = { pods: new Set(), share: 1 };

function placeInOrder(reading: Reading, order: Order, later = NONE_LATER): Placed {
  const { input, pods } = reading;
  const workspace = workspaceFor(reading);
  const [after, open] = partition(largestFirst(workspace, keepPromises(workspace, pods)), (pod) => later.pods.has(pod));
  const rules = rulesFor(workspace);
  const isMixed = open.some((pod) => isBulk(rules, pod)) && open.some((pod) => !isBulk(rules, pod));
  const solved: Array<SolvedProblem> = [];
  const work = { left: input.work.steps * later.share * (isMixed ? MIXED_SHARE : 1) };
  const placed = placeClasses(workspace, { rules, order, work, solved }, priorityClasses(workspace, open));
  const left = placeByTerm(workspace, after.length === 0 ? placed : placeAll(workspace, [...placed, ...after]));
  if (left.length === 0) mergeClaims(workspace);
  balanceZones(workspace);
  const proof = { left: input.work.steps * PROOF_SHARE };
  return { workspace, left, isMixed, solved, proof };
}

/** What buffers may take beside the work of placing pods. */
const BUFFER_SHARE = 0.3;

/** Buffers come after all pods, on what these leave free: where pods go, and why one is left, does not depend on them. */
function planWithBuffers(placed: Placed, before: Reading, { input, buffers }: BufferedInput): Plan {
  const reasons = reasonsFor(placed.workspace, placed.left);
  const spare = buffers.flatMap((buffer) => buffer.pods);
  const workspace = extendWorkspace(placed.workspace, { ...before, input }, spare);
  const own = new Set(spare.map(({ shape }) => shape));
  const rules = new Map([...rulesFor(workspace)].filter(([shape]) => own.has(shape)));
  const solved = [...placed.solved];
  const work = { left: input.work.steps * BUFFER_SHARE };
  const manner = { rules, order: 'one-by-one-first', work, solved } as const;
  const open = largestFirst(workspace, keepPromises(workspace, spare));
  const left = placeByTerm(workspace, placeClasses(workspace, manner, [open]));
  balanceZones(workspace);
  return toPlan({ ...placed, workspace, solved }, { reasons, buffers, left });
}

function rulesFor(workspace: Workspace): BulkRules {
  return new Map([...workspace.shapes.keys()].map((shape) => [shape, bulkRuleOf(workspace, shape)]));
}

function placeClasses(
  workspace: Workspace,
  manner: Manner,
  classes: ReadonlyArray<ReadonlyArray<Pod>>,
): ReadonlyArray<Pod> {
  const left = classes.flatMap((own, index) =>
    withShare(manner.work, 1 / (classes.length - index), (work) => placeClass(workspace, { ...manner, work }, own)),
  );
  return placeAll(workspace, left);
}

/** Where a pool has limits, pods of higher priority are placed before any other is looked at; else all together. */
function priorityClasses({ pools, shapes }: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<ReadonlyArray<Pod>> {
  if (pools.every(({ pool }) => pool.limits.size === 0)) return [pods];
  const classes = Map.groupBy(pods, ({ shape }) => shapes.get(shape)?.shape.spec.priority ?? 0);
  return [...classes].toSorted(([a], [b]) => b - a).map(([, own]) => own);
}

interface Manner {
  readonly rules: BulkRules;
  readonly order: Order;
  readonly work: Work;
  /** Grows by every problem that is solved. */
  readonly solved: Array<SolvedProblem>;
}

/** Existing capacity first, then pods whose rules look at others one by one and the rest packed together, or the reverse. */
function placeClass(workspace: Workspace, manner: Manner, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const { rules, order } = manner;
  const [plain, others] = partition(pods, ({ shape }) => isPlain(workspace, rules.get(shape) ?? null));
  const open = others.filter((pod) => !isBulk(rules, pod) || !placeOnAnyBin(workspace, pod));
  const unplaced = fillExisting(workspace, groupsOf(rules, plain), manner.work).filter(
    (pod) => !givesUp(workspace, pod),
  );
  // What is given is in order.
  const waiting = unplaced.length === 0 ? open : largestFirst(workspace, [...open, ...unplaced]);
  const oneByOne = waiting.filter((pod) => !isBulk(rules, pod));
  const packed = waiting.filter((pod) => isBulk(rules, pod));
  if (order === 'packed-first') {
    const rest = placeBulk(workspace, manner, packed);
    return placeAll(workspace, largestFirst(workspace, [...oneByOne, ...rest]));
  }
  const left = placeAll(workspace, oneByOne);
  const rest = placeBulk(workspace, manner, packed);
  return [...left, ...placeAll(workspace, largestFirst(workspace, rest))];
}

type BulkRules = ReadonlyMap<number, BulkRule | null>;

function isBulk(rules: BulkRules, { shape }: Pod): boolean {
  return (rules.get(shape) ?? null) !== null;
}

/** Puts a pod on existing capacity that it does not prefer; false when it has no preferences or there is none. */
function givesUp(workspace: Workspace, pod: Pod): boolean {
  return (workspace.asks.get(pod.shape) ?? []).length > 1 && placeOnAnyBin(workspace, pod);
}

/** May pods of the shape be on any node that has room, as far as rules about other pods, ports and volumes go? */
function isPlain(workspace: Workspace, rule: BulkRule | null): boolean {
  if (rule === null || rule.spread !== null || rule.perNode !== Infinity) return false;
  return workspace.bins.length > 0 && isUnruled(rule.ask) && rule.ask.shape.attachments.length === 0;
}

function groupsOf(rules: BulkRules, pods: ReadonlyArray<Pod>): ReadonlyArray<BulkGroup> {
  return [...Map.groupBy(pods, ({ shape }) => shape)].flatMap(([shape, own]) => {
    const rule = rules.get(shape) ?? null;
    return rule === null ? [] : [{ ask: rule.ask, pods: own, perNode: rule.perNode, within: null, deal: null }];
  });
}

function partition(
  pods: ReadonlyArray<Pod>,
  isFirst: (pod: Pod) => boolean,
): readonly [ReadonlyArray<Pod>, ReadonlyArray<Pod>] {
  return [pods.filter((pod) => isFirst(pod)), pods.filter((pod) => !isFirst(pod))];
}

/** Packs pods by shape; answers those that found no place that way. */
function placeBulk(
  workspace: Workspace,
  { rules, work, solved }: Manner,
  pods: ReadonlyArray<Pod>,
): ReadonlyArray<Pod> {
  if (pods.length === 0) return [];
  const loads = new Map<string, number>();
  const groups = [...Map.groupBy(pods, ({ shape }) => shape)].flatMap(([shape, own]) => {
    const rule = rules.get(shape) ?? null;
    return rule === null ? [] : dealOut(workspace, rule, fillHoles(workspace, rule.ask, own), loads);
  });
  const dealt = new Set(groups.flatMap((group) => group.pods));
  const held = new Set(workspace.claims.flatMap((claim) => claim.pods));
  const undealt = pods.filter((pod) => !dealt.has(pod) && !held.has(pod));
  const { left: unplaced, solved: own } = placeInBulk(workspace, groups, work);
  solved.push(...own);
  return [...undealt, ...unplaced, ...(unplaced.length === 0 ? [] : trimUneven(workspace, rules))];
}

/** Places pods in order, again and again while that gets any further; answers what is left. */
function placeAll(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const queue = queueFor(workspace);
  // Resource claims are each pod's own.
  return placeInRounds(pods, workspace.devices === null, (pod, mayStart) => tryPlacing(queue, pod, mayStart));
}

function tryPlacing(queue: Queue, pod: Pod, mayStart: boolean): boolean {
  const shape = queue.workspace.shapes.get(pod.shape);
  if (shape === undefined) return false;
  if (hasDeviceClaims(shape.shape.spec)) return placeWithDevices(queue, pod, mayStart);
  return place(queue, pod, mayStart);
}

interface PlacedBuffers {
  /** Why pods were left, before buffers took what they did not want. */
  readonly reasons: Reasons | null;
  readonly buffers: ReadonlyArray<BufferPods>;
  readonly left: ReadonlyArray<Pod>;
}

const NO_BUFFERS: PlacedBuffers = { reasons: null, buffers: [], left: [] };

function toPlan({ workspace, left, solved, proof }: Placed, spare: PlacedBuffers): Plan {
  const claims = renderClaims(workspace, cheaperExplainer(workspace));
  const bounds = lowerBounds(workspace, solved, proof);
  return {
    claims,
    nominations: nominationsOf(workspace, (pod) => !isBufferPod(pod)),
    left: leftPods(workspace, left, spare.reasons ?? reasonsFor(workspace, left)),
    buffers: plannedBuffers(workspace, spare),
    devices: deviceAssignments(workspace, claims),
    cost: plainCostOf(claims),
    lowerBound: microUsdPerHour(bounds.plain),
    weighed: { cost: weighedCostOf(claims), lowerBound: microUsdPerHour(bounds.weighed) },
  };
}

function plannedBuffers(workspace: Workspace, { buffers, left }: PlacedBuffers): ReadonlyArray<PlannedBuffer> {
  const reasons = reasonsFor(workspace, left);
  return buffers.map(({ buffer, pods }) => {
    const own = new Set(pods);
    const claims = workspace.claims.map((claim, index) => ({
      claim: index,
      pods: claim.pods.filter((pod) => own.has(pod)),
    }));
    return {
      buffer,
      nominations: nominationsOf(workspace, (pod) => own.has(pod)),
      claims: claims.flatMap((one) =>
        one.pods.length === 0 ? [] : [{ ...one, pods: toReferences(workspace, one.pods) }],
      ),
      left: leftPods(
        workspace,
        left.filter((pod) => own.has(pod)),
        reasons,
      ),
    };
  });
}

function nominationsOf(workspace: Workspace, isWanted: (pod: Pod) => boolean): ReadonlyArray<Nomination> {
  return workspace.bins.flatMap(({ capacity, pods }) => {
    const own = pods.filter(isWanted);
    if (own.length === 0) return [];
    return [{ target: { kind: capacity.kind, name: capacity.name }, pods: toReferences(workspace, own) }];
  });
}

/** By index of shape. */
type Reasons = ReadonlyMap<number, LeftPod['refusals']>;

/** Pods of one shape are left for the same reasons, which are worked out once. */
function reasonsFor(workspace: Workspace, left: ReadonlyArray<Pod>): Reasons {
  const reasons = new Map<number, LeftPod['refusals']>();
  for (const index of new Set(left.map(({ shape }) => shape))) {
    const shape = workspace.shapes.get(index);
    if (shape !== undefined) reasons.set(index, explainLeft(workspace, shape));
  }
  return reasons;
}

function leftPods(workspace: Workspace, left: ReadonlyArray<Pod>, reasons: Reasons): ReadonlyArray<LeftPod> {
  return left
    .map((pod) => ({ pod: toReference(workspace, pod), refusals: reasons.get(pod.shape) ?? [] }))
    .toSorted((a, b) => byReference(a.pod, b.pod));
}

function toReferences(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<PodReference> {
  return pods.map((pod) => toReference(workspace, pod)).toSorted(byReference);
}

function toReference(workspace: Workspace, pod: Pod): PodReference {
  return { name: podName(workspace, pod), uid: pod.uid };
}

function byReference(a: PodReference, b: PodReference): number {
  return byCodeUnit(a.name, b.name) || byCodeUnit(a.uid, b.uid);
}
