import type { Pod } from '../model/cluster.ts';
import { hasDeviceClaims } from '../devices/device-claims.ts';
import { withShare, type Work } from '../packing/problem/work.ts';
import { placeWithDevices } from './one-by-one/place-with-devices.ts';
import {
  fillHoles,
  isUnruled,
  place,
  placeInRounds,
  placeOnAnyNode,
  queueFor,
  type Queue,
} from './one-by-one/place.ts';
import { largestFirst } from './state/pod-order.ts';
import type { Workspace } from './state/workspace.ts';
import { ANYWHERE, bulkRuleOf, assignDomains, type BulkGroup, type BulkRule } from './together/bulk-groups.ts';
import { trimUneven } from './together/bulk-trim.ts';
import { placeInBulk, type SolvedProblem } from './together/bulk.ts';
import { fillExisting } from './together/fill-existing.ts';

/**
 * Pods whose rules look at other pods are placed one by one, all others packed together. Whoever comes first opens
 * nodes that suit it and leaves the other what is over, so where both are there both orders are tried.
 */
export type Order = (typeof ORDERS)[number];

/** Both orders, the one that is tried first first. */
export const ORDERS = ['one-by-one-first', 'packed-first'] as const;

/** Which shapes are packed together, and how. */
export function rulesFor(workspace: Workspace): BulkRules {
  return new Map([...workspace.shapes.keys()].map((shape) => [shape, bulkRuleOf(workspace, shape)]));
}

/**
 * Places the pods of each class in turn, each with its share of the work that is left; returns the pods without a
 * place.
 */
export function placeClasses(
  workspace: Workspace,
  placing: PlacingOrder,
  classes: ReadonlyArray<ReadonlyArray<Pod>>,
): ReadonlyArray<Pod> {
  const left = classes.flatMap((own, index) =>
    withShare(placing.work, 1 / (classes.length - index), (work) => placeClass(workspace, { ...placing, work }, own)),
  );
  return placeAll(workspace, left);
}

/** Where a pool has limits, pods of higher priority are placed before any other is looked at; else all together. */
export function priorityClasses(
  { pools, shapes }: Workspace,
  pods: ReadonlyArray<Pod>,
): ReadonlyArray<ReadonlyArray<Pod>> {
  if (pools.every(({ pool }) => pool.limits.size === 0)) return [pods];
  const classes = Map.groupBy(pods, ({ shape }) => shapes.get(shape)?.shape.spec.priority ?? 0);
  return [...classes].toSorted(([a], [b]) => b - a).map(([, own]) => own);
}

/** How the pods of a class are placed. */
export interface PlacingOrder {
  readonly rules: BulkRules;
  readonly order: Order;
  readonly work: Work;
  /** Grows by every problem that is solved. */
  readonly solved: Array<SolvedProblem>;
}

/**
 * Existing capacity first, then pods whose rules look at others one by one and the rest packed together, or the
 * reverse.
 */
function placeClass(workspace: Workspace, placing: PlacingOrder, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const { rules, order } = placing;
  const [plain, others] = partition(pods, ({ shape }) => isPlain(workspace, rules.get(shape) ?? null));
  const open = others.filter((pod) => !isBulk(rules, pod) || !placeOnAnyNode(workspace, pod));
  const unplaced = fillExisting(workspace, groupsOf(rules, plain), placing.work).filter(
    (pod) => !givesUp(workspace, pod),
  );
  // What is given is in order.
  const waiting = unplaced.length === 0 ? open : largestFirst(workspace, [...open, ...unplaced]);
  const oneByOne = waiting.filter((pod) => !isBulk(rules, pod));
  const packed = waiting.filter((pod) => isBulk(rules, pod));
  if (order === 'packed-first') {
    const rest = placeBulk(workspace, placing, packed);
    return placeAll(workspace, largestFirst(workspace, [...oneByOne, ...rest]));
  }
  const left = placeAll(workspace, oneByOne);
  const rest = placeBulk(workspace, placing, packed);
  return [...left, ...placeAll(workspace, largestFirst(workspace, rest))];
}

/** By index of shape: how pods of the shape are packed together; null where they are placed one by one. */
export type BulkRules = ReadonlyMap<number, BulkRule | null>;

export function isBulk(rules: BulkRules, { shape }: Pod): boolean {
  return (rules.get(shape) ?? null) !== null;
}

/** Puts a pod on existing capacity that it does not prefer; false when it has no preferences or there is none. */
function givesUp(workspace: Workspace, pod: Pod): boolean {
  return (workspace.needs.get(pod.shape) ?? []).length > 1 && placeOnAnyNode(workspace, pod);
}

/** May pods of the shape be on any node that has room, as far as rules about other pods, ports and volumes go? */
function isPlain(workspace: Workspace, rule: BulkRule | null): boolean {
  if (rule === null || rule.spread !== null || rule.together !== null || rule.perNode !== Infinity) return false;
  return workspace.nodes.length > 0 && isUnruled(rule.need) && rule.need.shape.attachments.length === 0;
}

function groupsOf(rules: BulkRules, pods: ReadonlyArray<Pod>): ReadonlyArray<BulkGroup> {
  return [...Map.groupBy(pods, ({ shape }) => shape)].flatMap(([shape, own]) => {
    const rule = rules.get(shape) ?? null;
    return rule === null ? [] : [{ need: rule.need, pods: own, perNode: rule.perNode, ...ANYWHERE }];
  });
}

export function partition(
  pods: ReadonlyArray<Pod>,
  isFirst: (pod: Pod) => boolean,
): readonly [ReadonlyArray<Pod>, ReadonlyArray<Pod>] {
  return [pods.filter((pod) => isFirst(pod)), pods.filter((pod) => !isFirst(pod))];
}

/** Packs pods by shape; returns those that found no place that way. */
function placeBulk(
  workspace: Workspace,
  { rules, work, solved }: PlacingOrder,
  pods: ReadonlyArray<Pod>,
): ReadonlyArray<Pod> {
  if (pods.length === 0) return [];
  const ruled = [...Map.groupBy(pods, ({ shape }) => shape)].flatMap(([shape, own]) => {
    const rule = rules.get(shape) ?? null;
    return rule === null ? [] : [{ rule, pods: fillHoles(workspace, rule.need, own) }];
  });
  const groups = assignDomains(workspace, ruled);
  const assigned = new Set(groups.flatMap((group) => group.pods));
  const held = new Set(workspace.claims.flatMap((claim) => claim.pods));
  const unassigned = pods.filter((pod) => !assigned.has(pod) && !held.has(pod));
  const { left: unplaced, solved: own } = placeInBulk(workspace, groups, work);
  solved.push(...own);
  return [...unassigned, ...unplaced, ...(unplaced.length === 0 ? [] : trimUneven(workspace, rules))];
}

/** Places pods in order, again and again while that gets any further; returns what is left. */
export function placeAll(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
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
