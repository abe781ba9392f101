import { digest } from '../../contract/digest.ts';
import type { Snapshot, SnapshotPod } from '../../contract/snapshot/parse.ts';
import type { Decision, Mover } from '../../ports/store.ts';
import { podName } from '../../core/model/pod-name.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import type { Node } from '../../kubernetes/manifest.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { PlannedPod } from './planned-pods.ts';

/**
 * The pods among `uids` that run somewhere else when they are planned for, and have an owner: they do not come
 * themselves, their successors do.
 */
export function moversAmong({ pods, shapes, owners }: Snapshot, uids: ReadonlySet<string>): ReadonlyArray<Mover> {
  const known = new Set(owners.map(({ uid }) => uid));
  return pods.flatMap(({ uid, nodeName, shape }): ReadonlyArray<Mover> => {
    const owner = shapes[shape]?.owner?.uid;
    if (!uids.has(uid) || nodeName === null || owner === undefined) return [];
    const mover = { uid, owner, shape: shapeDigest(shapes[shape]) };
    return [known.has(owner) ? { ...mover, isCounted: true } : mover];
  });
}

/** Those of the decision that the claim was made for. */
export function moversOf(decision: Decision | null, claim: string): ReadonlyArray<Mover> {
  const own = new Set(plannedOn(decision, claim));
  return (decision?.movers ?? []).filter(({ uid }) => own.has(uid));
}

/**
 * Everybody whom a claim of the decision was made for: where such a pod waits itself, it has room of its own and is
 * nobody's successor.
 */
export function plannedIn(decision: Decision | null): ReadonlyArray<string> {
  return (decision?.plan.claims ?? []).flatMap(({ pods }) => pods.map(({ uid }) => uid));
}

/** Who comes to a node in place of the pods that were planned to move there. */
export interface Heirs {
  /** They wait for a node, and may have their predecessors' room. */
  readonly waiting: ReadonlyArray<PlannedPod>;
  /**
   * How many predecessors are on a node that goes, or have gone and have no successor yet, while their owner wants
   * another pod.
   */
  readonly awaited: number;
  /** How many of these have ended: no plan has their successors yet. */
  readonly unborn: number;
}

/** What of a snapshot tells who comes. */
type Present = Pick<Snapshot, 'pods' | 'shapes' | 'owners' | 'nodes' | 'nodeClaims'>;

/**
 * The successors of movers: pods of the same owner and shape, which wait or have come to the node already. Each takes
 * the place of one. `taken`: uids of pods that are nobody's successors (`plannedIn`), or another's; those found are
 * added.
 */
export function heirsOf(movers: ReadonlyArray<Mover>, node: string, snapshot: Present, taken: Set<string>): Heirs {
  if (movers.length === 0) return { waiting: [], awaited: 0, unborn: 0 };
  const { pods, shapes } = snapshot;
  const present = new Map(pods.map((pod) => [pod.uid, pod]));
  const there = movers.filter(({ uid }) => present.get(uid)?.deleting === false);
  const gone = movers.filter((mover) => !there.includes(mover));
  const leaving = there.length === 0 ? new Set() : leavingNodes(snapshot);
  const waiting: Array<PlannedPod> = [];
  // Where its node stays after all, or it has come to another, nobody comes for it.
  const staying = there.filter(({ uid }) => leaving.has(present.get(uid)?.nodeName ?? '')).length;
  let unborn = 0;
  for (const { owner, shape: wanted, isCounted } of gone) {
    const isHeir = ({ uid, nodeName, deleting, shape }: SnapshotPod): boolean => {
      if (deleting || taken.has(uid)) return false;
      if (nodeName !== null && nodeName !== node) return false;
      return shapes[shape]?.owner?.uid === owner && shapeDigest(shapes[shape]) === wanted;
    };
    // Those that have come first: they need to be let in no more.
    const heir = pods.find((pod) => pod.nodeName !== null && isHeir(pod)) ?? pods.find(isHeir);
    if (heir === undefined) {
      if (isCounted !== true || lackingOf(snapshot, owner) > 0) unborn++;
      continue;
    }
    taken.add(heir.uid);
    if (heir.nodeName === null) waiting.push({ name: podName(snapshot, heir), uid: heir.uid });
  }
  return { waiting, awaited: staying + unborn, unborn };
}

/** Without those that still run on a node whose drain began before `beganMs`, milliseconds since the epoch. */
export function withoutHeldUp(
  movers: ReadonlyArray<Mover>,
  { pods, nodes, nodeClaims }: Present,
  beganMs: number,
): ReadonlyArray<Mover> {
  const isDraining = ({ metadata }: Pick<Node, 'metadata'>): boolean =>
    Date.parse(metadata.deletionTimestamp ?? '') <= beganMs;
  const draining = new Set([
    ...nodes.filter(isDraining).map(({ metadata }) => metadata.name),
    ...nodeClaims.filter(isDraining).map(nodeNameOf),
  ]);
  const nodeOf = new Map(pods.map(({ uid, nodeName, deleting }) => [uid, deleting ? null : nodeName]));
  return movers.filter(({ uid }) => !draining.has(nodeOf.get(uid) ?? ''));
}

/**
 * Pods that wait, whose place is on another node of the decision, as they were planned for it or are successors of who
 * was, and that are alike to pods which are to move to the node of `claim` and have not left yet: as many as these,
 * less those that have come so. Each may have the other's place. With a spread the one that waits may have to come
 * first to this very node, and a budget may let no pod leave before it has.
 */
export function matesOf(decision: Decision | null, claim: string, snapshot: Present): ReadonlyArray<PlannedPod> {
  const places = placesOf(decision, claim, snapshot);
  if (places.size === 0) return [];
  const elsewhere = plannedElsewhere(decision, claim);
  const waiting = snapshot.pods.filter(({ nodeName, deleting }) => nodeName === null && !deleting);
  const planned = new Set(plannedIn(decision));
  return [...Map.groupBy(waiting, ({ shape }) => kindOf(snapshot, shape))].flatMap(([kind, alike]) => {
    const place = places.get(kind);
    if (place === undefined) return [];
    const successors = alike.filter(({ uid }) => !planned.has(uid));
    // Its own come first, as among its heirs.
    const theirs = successors.slice(place.own, place.own + place.theirs);
    const mates = [...alike.filter(({ uid }) => elsewhere.has(uid)), ...theirs].slice(0, Math.max(0, place.free));
    return mates.map((pod) => ({ name: podName(snapshot, pod), uid: pod.uid }));
  });
}

/** Of pods that are alike: how many places on the node may be another's now, and who waits for a place. */
interface Places {
  /** Of those who are to move there and have not left, less those who have come in their place. */
  free: number;
  /** Successors that are to come to the node itself, and to others of the decision. */
  own: number;
  theirs: number;
}

/** By owner and shape, of those alike to a pod that is to move to the claim's node and has not left. */
function placesOf(decision: Decision | null, claim: string, snapshot: Present): ReadonlyMap<string, Places> {
  const present = new Map(snapshot.pods.map((pod) => [pod.uid, pod]));
  const isStaying = ({ uid }: Mover): boolean => present.get(uid)?.deleting === false;
  const own = moversOf(decision, claim);
  const places = new Map<string, Places>();
  for (const mover of own.filter(isStaying)) {
    const place = places.get(kindOfMover(mover)) ?? { free: 0, own: 0, theirs: 0 };
    places.set(kindOfMover(mover), { ...place, free: place.free + 1 });
  }
  if (places.size === 0) return places;
  const isOwn = new Set(own.map(({ uid }) => uid));
  // Where that other node is no more there is nobody's place.
  const living = new Set(snapshot.nodeClaims.map(({ metadata }) => metadata.name));
  const made = (decision?.claimNames ?? []).filter((name) => living.has(name));
  const isThere = new Set(made.flatMap((name) => plannedOn(decision, name)));
  for (const mover of decision?.movers ?? []) {
    const place = places.get(kindOfMover(mover));
    if (place === undefined || isStaying(mover)) continue;
    if (isOwn.has(mover.uid)) place.own++;
    else if (isThere.has(mover.uid)) place.theirs++;
  }
  noteCome(places, decision, claim, snapshot);
  return places;
}

/** Takes away those who have come: on the node its own successors first, and then who took another's place. */
function noteCome(
  places: ReadonlyMap<string, Places>,
  decision: Decision | null,
  claim: string,
  snapshot: Present,
): void {
  const nodes = new Map(snapshot.nodeClaims.map((one) => [nodeNameOf(one), one.metadata.name]));
  const made = new Set(decision?.claimNames);
  const plannedHere = new Set(plannedOn(decision, claim));
  const planned = new Set(plannedIn(decision));
  for (const { uid, nodeName, deleting, shape } of snapshot.pods) {
    const on = nodes.get(nodeName ?? '');
    const place = on === undefined || deleting || !made.has(on) ? undefined : places.get(kindOf(snapshot, shape));
    if (place === undefined || plannedHere.has(uid)) continue;
    if (on !== claim) {
      if (!planned.has(uid)) place.theirs--;
    } else if (planned.has(uid)) place.free--;
    else if (place.own > 0) place.own--;
    else {
      place.free--;
      place.theirs--;
    }
  }
  for (const place of places.values()) place.theirs = Math.max(0, place.theirs);
}

function plannedOn(decision: Decision | null, claim: string): ReadonlyArray<string> {
  const index = decision?.claimNames.indexOf(claim) ?? -1;
  return (decision?.plan.claims[index]?.pods ?? []).map(({ uid }) => uid);
}

/** Uids of the pods of the decision whose place is on another of its nodes. */
function plannedElsewhere(decision: Decision | null, claim: string): ReadonlySet<string> {
  const here = new Set(plannedOn(decision, claim));
  return new Set(plannedIn(decision).filter((uid) => !here.has(uid)));
}

function kindOfMover({ owner, shape }: Mover): string {
  return `${owner}/${shape}`;
}

function kindOf({ shapes }: Pick<Snapshot, 'shapes'>, shape: number): string {
  return `${shapes[shape]?.owner?.uid ?? ''}/${shapeDigest(shapes[shape])}`;
}

function leavingNodes(snapshot: Present): ReadonlySet<string> {
  const names = new Set(leavingNames(snapshot));
  const ofClaims = snapshot.nodeClaims.filter(({ metadata }) => names.has(metadata.name)).map(nodeNameOf);
  return new Set([...names, ...ofClaims]);
}

/** How many more pods an owner wants than it has. One that wants none is not in the snapshot. */
function lackingOf({ pods, shapes, owners }: Present, owner: string): number {
  const living = pods.filter(({ deleting, shape }) => !deleting && shapes[shape]?.owner?.uid === owner).length;
  return (owners.find(({ uid }) => uid === owner)?.desired ?? 0) - living;
}

/** Kubernetes gives pods these labels of their node when they are bound: a successor that waits has none yet. */
const OF_NODES: ReadonlySet<string> = new Set(['topology.kubernetes.io/region', 'topology.kubernetes.io/zone']);

/** Shapes do not change. */
const digests = new WeakMap<Snapshot['shapes'][number], string>();

/** What pods of one template share, and others of the same owner may not. */
export function shapeDigest(shape: Snapshot['shapes'][number] | undefined): string {
  if (shape === undefined) return '';
  const known = digests.get(shape) ?? digestOf(shape);
  digests.set(shape, known);
  return known;
}

function digestOf({ labels, namespace, spec }: Snapshot['shapes'][number]): string {
  const own = Object.entries(labels).filter(([key]) => !OF_NODES.has(key));
  return digest(JSON.stringify([namespace, own, spec]));
}
