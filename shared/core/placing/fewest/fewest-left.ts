import { crowdByInput } from '../crowding/crowd-hosts.ts';
import type { Pod } from '../../model/cluster.ts';
import type { Work } from '../../packing/problem/work.ts';
import { drawFrom, type Draw } from '../../quantity/draw.ts';
import { compareLeft, holdableShapes, leftByPriority, type LeftByPriority } from '../one-by-one/left-pods.ts';
import type { OpenClaim } from '../state/open-claim.ts';
import { placeInRounds } from '../one-by-one/place.ts';
import { lastComers, needsNoOrder } from '../one-by-one/needs-no-order.ts';
import { smallestFirst } from '../state/pod-order.ts';
import { pricedByLimits } from './price-by-limits.ts';
import { keepPromises } from '../one-by-one/promises.ts';
import { markOf, rewind } from '../state/rewind.ts';
import { counts } from '../state/topology.ts';
import { take, waysFor, type Way } from './ways.ts';
import { workspaceFor, type CompiledInput, type Workspace } from '../state/workspace.ts';

/**
 * Where pods are when as few are left as were found: by existing node in order, and on claims of pools priced by their
 * limits.
 */
export interface FewestLeft {
  readonly onNodes: ReadonlyArray<ReadonlyArray<Pod>>;
  readonly claims: ReadonlyArray<OpenClaim>;
  readonly left: ReadonlyArray<Pod>;
  /** Is every pod right where it is, whichever is bound first? */
  readonly needsNoOrder: boolean;
}

/** Places are tried so often at most: where more help, few inputs in thousands still gain. */
const MOST_ATTEMPTS = 256;

/**
 * What it takes to look at all ways to place one pod beside so many existing nodes, claims and pools, in operations.
 */
const OPERATIONS_PER_WAY = 60;

/** And for each pod to be put in order. */
const OPERATIONS_PER_POD = 100;

/**
 * Looks for places that leave less than `atMost`, whatever they cost; null when none were found. Pods are placed again
 * and again, in other orders and in other places, those that were left before ahead of others of their priority.
 * Nothing in it depends on prices: a cheaper offering finds the same.
 */
export function findFewestLeft(compiled: CompiledInput, atMost: LeftByPriority, work: Work): FewestLeft | null {
  const workspace = workspaceFor(pricedByLimits(compiled));
  crowdByInput(workspace);
  const holdable = holdableShapes(workspace);
  const kept = keepPromises(workspace, compiled.pods);
  const pods = smallestFirst(
    workspace,
    kept.filter(({ shape }) => holdable.has(shape)),
  );
  const never = kept.filter(({ shape }) => !holdable.has(shape));
  const least = leftByPriority(workspace, never);
  if (compareLeft(least, atMost) >= 0) return null;
  const mark = markOf(workspace);
  const starters = startersAmong(workspace);
  const search: FewestState = { workspace, pods, starters, blame: new Map(), draw: drawFrom(pods.length), work };
  const comers = lastComers(workspace);
  let best = atMost;
  let found: FewestLeft | null = null;
  const isDone = (): boolean => work.left <= 0 || (compareLeft(least, best) >= 0 && found?.needsNoOrder === true);
  for (let attempt = 0; attempt < MOST_ATTEMPTS && !isDone(); attempt++) {
    rewind(workspace, mark);
    const left = [...placeOnce(search, attempt), ...never];
    const own = leftByPriority(workspace, left);
    const difference = compareLeft(own, best);
    if (difference > 0 || (difference === 0 && found?.needsNoOrder !== false)) continue;
    const orderless = needsNoOrder(workspace, comers);
    if (difference === 0 && !orderless) continue;
    best = own;
    found = { left, claims: [...workspace.claims], onNodes: podsOnNodes(workspace), needsNoOrder: orderless };
  }
  return found;
}

function podsOnNodes({ nodes }: Workspace): FewestLeft['onNodes'] {
  return nodes.map(({ pods }) => [...pods]);
}

interface FewestState {
  readonly workspace: Workspace;
  /** The smallest first: of these most have room. */
  readonly pods: ReadonlyArray<Pod>;
  /** Shapes whose pods need not wait to be the first of their kind. */
  readonly starters: ReadonlySet<number>;
  /** How often a pod was left so far. */
  readonly blame: Map<Pod, number>;
  readonly draw: Draw;
  readonly work: Work;
}

/** No pod of another shape is what these want to be near, so that none can be there before them. */
function startersAmong({ needs, topology }: Workspace): ReadonlySet<number> {
  const shapes = [...needs.keys()];
  const isStarter = (shape: number): boolean =>
    (needs.get(shape)?.at(-1)?.terms.affinity ?? []).every((counter) =>
      shapes.every((other) => other === shape || !counts(topology, counter, other)),
    );
  return new Set(shapes.filter(isStarter));
}

/** By attempt, again and again: how often a place is any that there is, and not the one that takes least of limits. */
const WANDERING = [0, 1, 0.5, 1, 0.2] as const;

function placeOnce(search: FewestState, attempt: number): ReadonlyArray<Pod> {
  const { workspace, starters, blame, draw, work } = search;
  const wandering = WANDERING[attempt % WANDERING.length] ?? 1;
  work.left -= OPERATIONS_PER_POD * search.pods.length;
  const left = placeInRounds(orderFor(search, attempt), true, (pod, mayStart) => {
    const need = workspace.needs.get(pod.shape)?.at(-1);
    if (need === undefined || work.left <= 0) return false;
    const ways = waysFor(workspace, need, mayStart || starters.has(pod.shape));
    work.left -= OPERATIONS_PER_WAY * (ways.length + workspace.claims.length + workspace.pools.length);
    const way = draw.share() < wandering ? ways[draw.below(ways.length)] : leastTaken(ways);
    if (way !== undefined) take(workspace, way, need, pod);
    return way !== undefined;
  });
  for (const pod of left) blame.set(pod, (blame.get(pod) ?? 0) + 1);
  return left;
}

/** The first of those that take least of limits. */
function leastTaken(ways: ReadonlyArray<Way>): Way | undefined {
  const taken = (way: Way): number => (way.kind === 'node' ? 0 : way.joining.added);
  let best = ways[0];
  for (const way of ways) if (best !== undefined && taken(way) < taken(best)) best = way;
  return best;
}

/** Of every eight attempts, the ones that heed what was left before. */
const HEEDS_BLAME = [false, true, true, false, true, true, true, false] as const;

function orderFor({ workspace, pods, blame, draw }: FewestState, attempt: number): ReadonlyArray<Pod> {
  const heeds = HEEDS_BLAME[attempt % HEEDS_BLAME.length] ?? false;
  const keyed = pods.map((pod, index) => ({
    pod,
    priority: workspace.shapes.get(pod.shape)?.shape.spec.priority ?? 0,
    blame: heeds ? (blame.get(pod) ?? 0) + 2 * draw.share() : 0,
    place: placeIn(attempt, index, draw),
  }));
  return keyed
    .toSorted((a, b) => b.priority - a.priority || b.blame - a.blame || a.place - b.place)
    .map(({ pod }) => pod);
}

/** Of four attempts two with the smallest first, one with the largest, one in no order. */
function placeIn(attempt: number, index: number, draw: Draw): number {
  switch (attempt % 4) {
    case 2:
      return -index;
    case 3:
      return draw.share();
    default:
      return index;
  }
}
