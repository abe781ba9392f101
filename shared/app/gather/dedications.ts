import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { InFlightClaim } from '../../core/model/provisioning-input.ts';
import type { Plan, PodReference } from '../../core/model/plan.ts';
import type { Decision } from '../../ports/store.ts';
import type { RoomLeft } from './room-left.ts';

/**
 * The value of the taint by which each claim's node is kept for its planned pods, in the order of the claims: its own
 * name, or one that several share whose pods are all alike. Such pods may have each other's places, so that whichever
 * the scheduler tries first takes the node that is ready first. `name` is the decision's. Null when none share.
 */
export function sharedDedications(
  { pods }: Pick<Snapshot, 'pods'>,
  { claims, buffers }: Pick<Plan, 'claims' | 'buffers'>,
  claimNames: ReadonlyArray<string>,
  name: string,
): ReadonlyArray<string> | null {
  const waiting = new Map(
    pods.flatMap(({ uid, shape, nodeName }) => (nodeName === null ? [[uid, shape] as const] : [])),
  );
  // Room that is kept for somebody beside the pods is not to be taken by more of them.
  const withBuffers = new Set(buffers.flatMap((buffer) => buffer.claims.map(({ claim }) => claim)));
  const shapes = claims.map((claim, index) => {
    const own = new Set(claim.pods.map(({ uid }) => waiting.get(uid)));
    const [shape] = own;
    return own.size === 1 && !withBuffers.has(index) ? (shape ?? null) : null;
  });
  const byShape = Map.groupBy(shapes, (shape) => shape);
  const isShared = (shape: number | null): shape is number => shape !== null && (byShape.get(shape) ?? []).length > 1;
  if (!shapes.some(isShared)) return null;
  return shapes.map((shape, index) => (isShared(shape) ? `${name}.${shape}` : (claimNames[index] ?? '')));
}

/** All pods of the decision that may pass a dedication which several of its claims share. */
export function podsOfDedication(
  { plan, reservations = [] }: Pick<Decision, 'plan' | 'reservations'>,
  dedication: string,
): ReadonlyArray<PodReference> {
  return plan.claims.flatMap(({ pods }, index) => (reservations[index] === dedication ? pods : []));
}

/** A claim in flight that shares its dedication. */
export interface SharingClaim {
  readonly name: string;
  readonly node: string;
  readonly dedication: string;
  /** How many pods it was planned for. */
  readonly places: number;
  readonly claim: InFlightClaim;
  readonly decision: Pick<Decision, 'plan' | 'reservations'>;
}

/**
 * Whose places are whose, now that some pods have come to nodes that others like them were planned for: those who still
 * wait have the places that are left, their own first. A node that takes fewer pods than were planned, or none, has as
 * many places as `roomOn` says: who has none there has one elsewhere, before anybody is planned again.
 */
export function sharedPlaces(
  { pods }: Pick<Snapshot, 'pods'>,
  claims: ReadonlyArray<SharingClaim>,
  roomOn: RoomLeft,
): ReadonlyMap<string, InFlightClaim> {
  const present = new Map(pods.map((pod) => [pod.uid, pod]));
  const places = new Map<string, InFlightClaim>();
  for (const [dedication, group] of Map.groupBy(claims, (claim) => claim.dedication)) {
    const decision = group[0]?.decision;
    const mates = decision === undefined ? [] : podsOfDedication(decision, dedication).map(({ uid }) => uid);
    const waiting = new Set(
      mates.filter((uid) => {
        const pod = present.get(uid);
        return pod !== undefined && isWaiting(pod);
      }),
    );
    const byNode = Map.groupBy(mates, (uid) => present.get(uid)?.nodeName ?? null);
    const taken = group.map(({ node }) => byNode.get(node) ?? []);
    const shape = present.get([...waiting][0] ?? '')?.shape;
    const counts = group.map(({ node, places: planned }, index) => {
      const come = taken[index]?.length ?? 0;
      return shape === undefined ? planned : Math.min(planned, come + roomOn(node, shape));
    });
    const own = group.map(({ claim }, index) => {
      const kept = claim.pods
        .filter((uid) => waiting.has(uid))
        .slice(0, Math.max(0, (counts[index] ?? 0) - (taken[index]?.length ?? 0)));
      for (const uid of kept) waiting.delete(uid);
      return kept;
    });
    const others = [...waiting];
    for (const [index, { name, claim }] of group.entries()) {
      const there = [...(taken[index] ?? []), ...(own[index] ?? [])];
      const left = Math.max(0, (counts[index] ?? 0) - there.length);
      places.set(name, { ...claim, pods: [...there, ...others.splice(0, left)] });
    }
  }
  return places;
}

/** Has it come to no node yet, and is it to stay? */
export function isWaiting({ nodeName, deleting }: Pick<Snapshot['pods'][number], 'nodeName' | 'deleting'>): boolean {
  return nodeName === null && !deleting;
}
