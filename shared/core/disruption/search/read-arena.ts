import { at } from '../../quantity/at.ts';
import { isUnruled } from '../../placing/one-by-one/place.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import { countersFor } from '../../placing/state/topology.ts';
import { compileInput, workspaceFor } from '../../placing/state/workspace.ts';
import type { Pod } from '../../model/cluster.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { evictionCostOf } from '../candidates/eviction-cost.ts';
import type { JudgedNode } from '../candidates/judged-node.ts';
import { factsOf, type Arena, type Group, type ShapeFacts, type Slot } from './arena.ts';
import { withFixedOfferings } from './fixed-pools.ts';
import { newOrder } from './fullest-first.ts';
import { putAwaited, recordOwn } from './slots.ts';

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
  const read = workspace.nodes.flatMap((room) => {
    const node = room.capacity.kind === 'node' ? byName.get(room.capacity.name) : undefined;
    return node === undefined ? [] : [{ room, node }];
  });
  const worth = worthOf(read.map(({ room }) => room));
  const shapes = new Map(
    [...workspace.needs].flatMap(([index, needs]) =>
      needs.slice(-1).map((least) => [index, readFacts(needs, least, worth)] as const),
    ),
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
    order: newOrder(),
  };
  for (const { room, node } of read.toSorted((a, b) => byCodeUnit(a.node.name, b.node.name))) {
    arena.slots.push(slotOf(arena, room, node));
  }
  arena.existing = arena.slots.length;
  for (const slot of arena.slots) recordOwn(arena, slot);
  for (const slot of arena.slots) {
    for (const pod of awaited.get(slot.room.capacity.name) ?? []) putAwaited(arena, slot, pod.shape);
  }
  return arena;
}

function readFacts(needs: ReadonlyArray<Need>, least: Need, worth: Float64Array): ShapeFacts {
  const { shape, requests, ports, attachments } = least.shape;
  const isRuled = needs.some((need) => !isUnruled(need));
  return {
    needs,
    least,
    requests,
    isRuled,
    size: requests.reduce((sum, amount, k) => sum + amount * at(worth, k), isRuled ? 1 : 0),
    cost: Math.max(0, evictionCostOf(shape)),
    isSingle: ports.length > 0 || attachments.length > 0,
  };
}

function worthOf(rooms: ReadonlyArray<ExistingNode>): Float64Array {
  const total = rooms[0]?.free.map((_, k) => rooms.reduce((sum, { free }) => sum + Math.max(0, at(free, k)), 0));
  return (total ?? new Float64Array()).map((sum) => (sum > 0 ? 1 / sum : 0));
}

function slotOf(arena: Arena, room: ExistingNode, node: JudgedNode): Slot {
  const { workspace } = arena;
  const isMovable = node.verdict.kind !== 'stays';
  const moving = isMovable ? node.moving : [];
  const movers = new Set(moving);
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
    own: largestFirst(groupsOf(moving), arena.shapes),
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
  const sizeOf = ({ shape }: Group): number => factsOf({ shapes }, shape).size;
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
