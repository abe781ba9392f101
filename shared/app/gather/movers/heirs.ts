import type { Snapshot, SnapshotPod } from '../../../contract/snapshot/parse.ts';
import { podName } from '../../../core/model/pod-name.ts';
import { leavingNames } from '../../../core/present/leaving-names.ts';
import type { Node } from '../../../kubernetes/manifest.ts';
import type { Mover } from '../../../ports/store.ts';
import { nodeNameOf } from '../../facts/node-name.ts';
import type { PlannedPod } from '../planned-pods.ts';
import { shapeDigest, type Present } from './planned.ts';

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
export function withoutHeldUp(movers: ReadonlyArray<Mover>, snapshot: Present, beganMs: number): ReadonlyArray<Mover> {
  const heldUp = new Set(podsOfDrains(snapshot, beganMs).map(({ uid }) => uid));
  return movers.filter(({ uid }) => !heldUp.has(uid));
}

/** The pods that still run on a node whose drain began before `beganMs`, and are not on the way out. */
export function podsOfDrains({ pods, nodes, nodeClaims }: Present, beganMs: number): ReadonlyArray<SnapshotPod> {
  const isDraining = ({ metadata }: Pick<Node, 'metadata'>): boolean =>
    Date.parse(metadata.deletionTimestamp ?? '') <= beganMs;
  const draining = new Set([
    ...nodes.filter(isDraining).map(({ metadata }) => metadata.name),
    ...nodeClaims.filter(isDraining).map(nodeNameOf),
  ]);
  return pods.filter(({ nodeName, deleting }) => !deleting && draining.has(nodeName ?? ''));
}

function leavingNodes(snapshot: Present): ReadonlySet<string> {
  const names = new Set(leavingNames(snapshot));
  const ofClaims = snapshot.nodeClaims.filter(({ metadata }) => names.has(metadata.name)).map(nodeNameOf);
  return new Set([...names, ...ofClaims]);
}

/**
 * How many more pods an owner wants than it has, and makes at once. One that wants none is not in the snapshot. A Job
 * makes its next pod ten seconds after one was evicted, and after several so many minutes later.
 */
function lackingOf({ pods, shapes, owners }: Present, owner: string): number {
  const living = pods.filter(({ deleting, shape }) => !deleting && shapes[shape]?.owner?.uid === owner).length;
  const known = owners.find(({ uid, kind }) => uid === owner && kind !== 'Job');
  return (known?.desired ?? 0) - living;
}
