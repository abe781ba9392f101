import type { Pod } from '../../model/cluster.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { isUnruled } from '../../placing/one-by-one/place.ts';
import { countersFor, recordOnNode } from '../../placing/state/topology.ts';
import { compileInput, workspaceFor, type Workspace } from '../../placing/state/workspace.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { evictionCostOf } from '../candidates/eviction-cost.ts';
import type { JudgedNode } from '../candidates/judged-node.ts';
import type { Draw } from '../../quantity/draw.ts';
import { newOrder, type Order } from './fullest-first.ts';
import { withFixedOfferings } from './fixed-pools.ts';
import type { PoolOffering } from './pool-offerings.ts';
import type { OwnPods } from './own-pods.ts';

/** Pods of one shape on one node. */
export interface Group {
  readonly shape: number;
  readonly count: number;
}

/** Pods of one shape that go from a node to a slot. */
export interface Move {
  readonly target: number;
  readonly shape: number;
  readonly count: number;
}

/** A node that is there, or one that the plan may create. Its fields change as the search goes. */
export interface Slot {
  readonly index: number;
  /** A new one is of another offering, and so has other room, until the search settles. */
  room: ExistingNode;
  /** Null for a new one. */
  readonly node: JudgedNode | null;
  /** Null for a node that is there. */
  offering: PoolOffering | null;
  /** In micro-USD per hour, risk included. 0 where it does not matter, since the node stays. */
  price: number;
  /** What it counts as to disrupt it, in the same. */
  disruptionCost: number;
  /** The NodePool, of ours. */
  pool: string | null;
  state: 'there' | 'gone' | 'absent';
  /** May the search take it away? */
  readonly isCandidate: boolean;
  readonly takesPods: boolean;
  /** It has no pods and will be removed as empty when its time has come: what goes for money moves nobody there. */
  readonly goesByItself: boolean;
  /** Its own pods that move when it goes: the largest first. */
  readonly own: ReadonlyArray<Group>;
  /** The others that topology counts: they go with it. */
  readonly bound: ReadonlyArray<Group>;
  /** Pods that have come. */
  received: number;
  /** What their evictions would count as. */
  receivedCost: number;
  /** Of a new one: how many pods it has of each shape; null for a node that is there. */
  readonly content: Map<number, number> | null;
  /** Slots that pods have come from, by index. */
  readonly sources: Set<number>;
  /** Where its own pods went. */
  moves: ReadonlyArray<Move>;
  /** When it was taken away: the order in which the rules allowed it. */
  takenAt: number;
  /** The lower, the sooner it takes pods: candidates that save much for their pods come last. */
  readonly reluctance: number;
}

/** What pods of a shape need, and whether topology looks at them. */
export interface ShapeFacts {
  readonly needs: ReadonlyArray<Need>;
  readonly requests: Float64Array;
  readonly isRuled: boolean;
  /** How much of the cluster's free room a pod takes. Those with rules are placed first, as they are choosier. */
  readonly size: number;
  /** What the eviction of one counts as, not below 0. */
  readonly cost: number;
  /** Its ports or attached volumes make pods of one shape unlike. */
  readonly isSingle: boolean;
}

/** The whole cluster while the search moves pods in it. */
export interface Arena {
  readonly workspace: Workspace;
  readonly slots: Array<Slot>;
  /** So many of the slots are nodes that are there; new ones come after them. */
  existing: number;
  /** By index of shape. */
  readonly shapes: ReadonlyMap<number, ShapeFacts>;
  /** By kind of need, for nodes that are there: per slot 0 for not asked yet, 1 for yes, 2 for no. For new ones by offering. */
  readonly admitted: {
    readonly there: Map<string, Uint8Array>;
    readonly fresh: Map<PoolOffering, Map<string, boolean>>;
  };
  /** By what offerings of all pools would do: one need for all that are alike in it. By need too, once asked for. */
  readonly standIns: Map<string | Need, Need>;
  /** What the own pods of nodes need of a new one, once asked for. */
  readonly ownPods: Map<Slot, OwnPods>;
  /** What one unit of each resource is worth, so that leftovers can be compared. */
  readonly worth: Float64Array;
  /** Work left: slots looked at for a pod. */
  readonly work: { left: number };
  /** When a node was last looked at in vain: the shape that found no place, and how many of its pods had found one before. */
  readonly stuck: { shape: number; placed: number };
  /** Where it is not null, pods go to these slots only. */
  readonly window: { slots: Array<Slot> | null };
  /** Where it is not null, what is left free is judged roughly, so that pods go elsewhere than last time. */
  readonly blur: { draw: Draw | null };
  /** Whoever changes a slot says so there: `touch`. */
  readonly order: Order;
}

export interface ArenaInput {
  readonly provisioning: ProvisioningInput;
  readonly nodes: ReadonlyArray<JudgedNode>;
  /** By name of node: pods that wait and are to come there. */
  readonly awaited: ReadonlyMap<string, ReadonlyArray<Pod>>;
  readonly searchSteps: number;
}

/** Reads the cluster for the search: every pod is where it is. */
export function arenaFor({ provisioning, nodes, awaited, searchSteps }: ArenaInput): Arena {
  const moving = nodes.flatMap((node) => (node.verdict.kind === 'stays' ? [] : node.moving));
  const coming = [...awaited.values()].flat();
  const reading = compileInput(withFixedOfferings(provisioning), [...moving, ...coming]);
  const workspace = workspaceFor(reading);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const rooms = workspace.nodes.filter(({ capacity }) => capacity.kind === 'node' && byName.has(capacity.name));
  const worth = worthOf(rooms);
  const shapes = new Map(
    [...workspace.needs].map(([index, needs]) => [index, factsOf(workspace, index, needs, worth)] as const),
  );
  const arena: Arena = {
    workspace,
    slots: [],
    existing: 0,
    shapes,
    admitted: { there: new Map(), fresh: new Map() },
    standIns: new Map(),
    ownPods: new Map(),
    worth,
    work: { left: searchSteps },
    stuck: { shape: -1, placed: 0 },
    blur: { draw: null },
    window: { slots: null },
    order: newOrder(),
  };
  for (const room of rooms.toSorted((a, b) => byCodeUnit(a.capacity.name, b.capacity.name))) {
    const node = byName.get(room.capacity.name);
    if (node !== undefined) arena.slots.push(slotOf(arena, room, node));
  }
  arena.existing = arena.slots.length;
  for (const slot of arena.slots) {
    touch(arena, slot);
    for (const { shape, count } of slot.own) record(arena, slot, shape, count);
  }
  for (const slot of arena.slots) {
    for (const pod of awaited.get(slot.room.capacity.name) ?? []) put(arena, slot, pod.shape, 1);
    // They disrupt nothing: what a pool has to lose is what runs.
    slot.receivedCost = 0;
  }
  return arena;
}

function factsOf(workspace: Workspace, index: number, needs: ReadonlyArray<Need>, worth: Float64Array): ShapeFacts {
  const compiled = workspace.shapes.get(index);
  const requests = compiled?.requests ?? new Float64Array();
  const isRuled = needs.some((need) => !isUnruled(need));
  return {
    needs,
    requests,
    isRuled,
    size: requests.reduce((sum, amount, k) => sum + amount * (worth[k] ?? 0), isRuled ? 1 : 0),
    cost: Math.max(0, compiled === undefined ? 1 : evictionCostOf(compiled.shape)),
    isSingle: (compiled?.ports.length ?? 0) + (compiled?.attachments.length ?? 0) > 0,
  };
}

function worthOf(rooms: ReadonlyArray<ExistingNode>): Float64Array {
  const width = rooms[0]?.free.length ?? 0;
  const total = new Float64Array(width);
  for (const { free } of rooms) for (let k = 0; k < width; k++) total[k] = (total[k] ?? 0) + Math.max(0, free[k] ?? 0);
  return total.map((sum) => (sum > 0 ? 1 / sum : 0));
}

function slotOf(arena: Arena, room: ExistingNode, node: JudgedNode): Slot {
  const { workspace } = arena;
  const isMovable = node.verdict.kind !== 'stays';
  const own = isMovable ? groupsOf(node.moving) : [];
  const movers = new Set(isMovable ? node.moving : []);
  const others = groupsOf(node.pods.filter((pod) => !movers.has(pod) && !pod.deleting));
  const price = node.price?.weighed ?? 0;
  return {
    index: arena.slots.length,
    room,
    node,
    offering: null,
    price,
    disruptionCost: 0,
    pool: node.nodePool?.metadata.name ?? null,
    state: 'there',
    isCandidate: isMovable,
    takesPods: takesPods(room, node),
    goesByItself: goesByItself(node),
    own: largestFirst(own, arena.shapes),
    bound: others.filter(({ shape }) => countersFor(workspace.topology, shape).length > 0),
    received: 0,
    receivedCost: 0,
    content: null,
    sources: new Set(),
    moves: [],
    takenAt: 0,
    reluctance: isMovable ? price / node.disruption : 0,
  };
}

function largestFirst(groups: ReadonlyArray<Group>, shapes: Arena['shapes']): ReadonlyArray<Group> {
  const sizeOf = ({ shape }: Group): number => shapes.get(shape)?.size ?? 0;
  return groups.toSorted((a, b) => sizeOf(b) - sizeOf(a) || a.shape - b.shape);
}

/** A node that is not ready or not complete is no place to move to. */
function takesPods({ capacity }: ExistingNode, { machine, verdict, isFull }: JudgedNode): boolean {
  const ready = machine.node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return !isFull && capacity.initialized && verdict.kind !== 'must' && (ready === undefined || ready.status === 'True');
}

function goesByItself({ verdict, disruption }: JudgedNode): boolean {
  return verdict.kind === 'stays' && verdict.reason.kind === 'not-consolidatable' && disruption <= 1;
}

function groupsOf(pods: ReadonlyArray<Pod>): ReadonlyArray<Group> {
  const counts = new Map<number, number>();
  for (const { shape } of pods) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  return [...counts].map(([shape, count]) => ({ shape, count }));
}

/** Counts pods of a shape on a slot, or takes them out of the count. */
export function record({ workspace, shapes }: Arena, { room: { capacity } }: Slot, shape: number, count: number): void {
  if (shapes.get(shape)?.isRuled === false) return;
  const node = { labels: capacity.labels, taints: capacity.presentTaints };
  recordOnNode(workspace.topology, shape, node, count);
}

/** What is free on the slot, or whether it is there, has changed. */
export function touch({ order }: Arena, slot: Slot): void {
  order.changed.add(slot);
}

/** Puts pods of a shape on a slot, or with a negative count takes them off, whatever the rules say. */
export function put(arena: Arena, slot: Slot, shape: number, count: number): void {
  const facts = arena.shapes.get(shape);
  if (facts === undefined) return;
  const { free } = slot.room;
  for (let k = 0; k < free.length; k++) free[k] = (free[k] ?? 0) - count * (facts.requests[k] ?? 0);
  if (facts.isSingle) putApart(arena, slot, shape, count);
  slot.received += count;
  slot.receivedCost += count * facts.cost;
  slot.content?.set(shape, (slot.content.get(shape) ?? 0) + count);
  touch(arena, slot);
  record(arena, slot, shape, count);
}

/** Host ports and volumes, for pods that have any. */
function putApart({ workspace }: Arena, { room }: Slot, shape: number, count: number): void {
  const compiled = workspace.shapes.get(shape);
  if (compiled === undefined) return;
  for (const port of compiled.ports) {
    if (count > 0) room.ports.push(port);
    else room.ports.splice(room.ports.lastIndexOf(port), 1);
  }
  for (const { driver, claim, name } of compiled.attachments) {
    const there = room.attached.volumes.get(driver) ?? new Set<string>();
    room.attached.volumes.set(driver, there);
    // A volume that others on the node use too stays counted when they go, which at worst refuses a pod.
    const id = claim ?? `${shape}/${name}`;
    if (count > 0) there.add(id);
    else there.delete(id);
  }
}
