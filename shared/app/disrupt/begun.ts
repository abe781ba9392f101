import { otherTaints } from '../../contract/disrupted-taint.ts';
import { annotation } from '../../contract/names.ts';
import type { Cluster } from '../../core/model/cluster.ts';
import type { Node, NodeClaim } from '../../kubernetes/manifest.ts';
import type { Plan } from '../../core/model/plan.ts';
import { isTrue } from '../conditions.ts';
import { transitionMs } from '../follow/node-claim.ts';
import { nodeNameOf } from '../node-name.ts';
import { replacementsOf } from '../replacements.ts';

/** A node and its claim. */
export interface Candidate {
  readonly claim: NodeClaim;
  readonly node: Node;
}

/** Nodes that go together or not at all, as their marks say. */
export interface Begun {
  /** The decision; null for what is marked without one: a crash came between two writes. */
  readonly decision: string | null;
  readonly candidates: ReadonlyArray<Candidate>;
  /** Claims that have to be initialized before. */
  readonly replacements: ReadonlyArray<string>;
  /** When the last of them was marked, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** The claims that have a node, each with it. */
export function machinesIn({ nodes, nodeClaims }: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Candidate> {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return nodeClaims.flatMap((claim) => {
    const node = byName.get(nodeNameOf(claim));
    return node === undefined ? [] : [{ claim, node }];
  });
}

/**
 * What has been begun and is not decided yet: claims marked to go that are not being deleted. A node that is only tainted is
 * not ours to judge: an interruption taints it a moment before it deletes the claim.
 */
export function begunIn(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Begun> {
  const candidates = machinesIn(cluster).filter(
    ({ claim, node }) => isMarked(claim) && !isGoing(claim) && !isGoing(node),
  );
  const byDecision = Map.groupBy(candidates, ({ claim }) => decisionOf(claim));
  return [...byDecision].map(([decision, own]) => ({
    decision,
    candidates: own,
    replacements: [...new Set(own.flatMap(({ claim }) => replacementsOf(claim)))],
    sinceMs: Math.max(...own.map(({ claim }) => transitionMs(claim, 'DisruptionReason'))),
  }));
}

/** The nodes as they would be without the mark, to judge them anew. */
export function withoutMarks(nodes: ReadonlyArray<Node>, { candidates }: Begun): ReadonlyArray<Node> {
  const own = new Set(candidates.map(({ node }) => node.metadata.name));
  return nodes.map((node) =>
    own.has(node.metadata.name) ? { ...node, spec: { ...node.spec, taints: otherTaints(node) } } : node,
  );
}

/** The nodes called `names` without the mark, and closed to new pods all the same: as they are until it is taken off. */
export function cordoned(nodes: ReadonlyArray<Node>, names: ReadonlySet<string>): ReadonlyArray<Node> {
  return nodes.map((node) =>
    names.has(node.metadata.name) ? { ...node, spec: { ...node.spec, taints: [...otherTaints(node), CORDON] } } : node,
  );
}

const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const;

/** Uids of the pods on these nodes that a plan has to find a place for, wherever it found one. */
export function homesOf(plan: Plan, uids: ReadonlySet<string>) {
  const isOwn = ({ uid }: { readonly uid: string }): boolean => uids.has(uid);
  return {
    left: plan.left.filter(({ pod }) => isOwn(pod)),
    claims: plan.claims.filter(({ pods }) => pods.some((pod) => isOwn(pod))),
    targets: plan.nominations.filter(({ pods }) => pods.some((pod) => isOwn(pod))).map(({ target }) => target),
  };
}

/** Has disruption said of the claim that it is to go? */
export function isMarked({ metadata, status }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.disruption] !== undefined || isTrue(status?.conditions, 'DisruptionReason');
}

function isGoing({ metadata }: Pick<NodeClaim | Node, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function decisionOf({ metadata, status }: NodeClaim): string | null {
  const decision = metadata.annotations?.[annotation.disruption];
  return decision === undefined || !isTrue(status?.conditions, 'DisruptionReason') ? null : decision;
}
