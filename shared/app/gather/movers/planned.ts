import { digest } from '../../../contract/digest.ts';
import type { Snapshot } from '../../../contract/snapshot/parse.ts';
import type { Decision, Mover } from '../../../ports/store.ts';

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

/** What of a snapshot tells who comes. */
export type Present = Pick<Snapshot, 'pods' | 'shapes' | 'owners' | 'nodes' | 'nodeClaims'>;

/** Uids of the pods that the decision made the claim for. */
export function plannedOn(decision: Decision | null, claim: string): ReadonlyArray<string> {
  const index = decision?.claimNames.indexOf(claim) ?? -1;
  return (decision?.plan.claims[index]?.pods ?? []).map(({ uid }) => uid);
}

/** Uids of the pods of the decision whose place is on another of its nodes. */
export function plannedElsewhere(decision: Decision | null, claim: string): ReadonlySet<string> {
  const here = new Set(plannedOn(decision, claim));
  return new Set(plannedIn(decision).filter((uid) => !here.has(uid)));
}

/** Those of the same owner and shape are alike. */
export function kindOfMover({ owner, shape }: Mover): string {
  return `${owner}/${shape}`;
}

/** The same, of a pod of this shape. */
export function kindOf({ shapes }: Pick<Snapshot, 'shapes'>, shape: number): string {
  return `${shapes[shape]?.owner?.uid ?? ''}/${shapeDigest(shapes[shape])}`;
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
