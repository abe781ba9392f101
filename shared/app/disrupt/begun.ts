import { annotation, taint } from '../../contract/names.ts';
import type { Cluster } from '../../core/model/cluster.ts';
import type { Node, NodeClaim } from '../../kubernetes/manifest.ts';
import type { Plan } from '../../core/model/plan.ts';
import { isTrue } from '../conditions.ts';
import { transitionMs } from '../follow/node-claim.ts';
import { nodeNameOf } from '../node-name.ts';

/** One node that is to go, and its claim. */
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

/**
 * What has been begun and is not decided yet: claims marked to go that are not being deleted. A node that is only tainted is
 * not ours to judge: an interruption taints it a moment before it deletes the claim.
 */
export function begunIn({ nodes, nodeClaims }: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Begun> {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  const candidates = nodeClaims.flatMap((claim): ReadonlyArray<Candidate> => {
    const node = byName.get(nodeNameOf(claim));
    if (node === undefined || isGoing(claim) || isGoing(node)) return [];
    return isMarked(claim) ? [{ claim, node }] : [];
  });
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
    own.has(node.metadata.name) ? { ...node, spec: { ...node.spec, taints: others(node) } } : node,
  );
}

/** The node's taints but for the mark. */
export function others(node: Node): NonNullable<NonNullable<Node['spec']>['taints']> {
  return (node.spec?.taints ?? []).filter(({ key }) => key !== taint.disrupted.key);
}

/** Uids of the pods on these nodes that a plan has to find a place for, wherever it found one. */
export function homesOf(plan: Plan, uids: ReadonlySet<string>) {
  const isOwn = ({ uid }: { readonly uid: string }): boolean => uids.has(uid);
  return {
    left: plan.left.filter(({ pod }) => isOwn(pod)),
    claims: plan.claims.filter(({ pods }) => pods.some((pod) => isOwn(pod))),
    targets: plan.nominations.filter(({ pods }) => pods.some((pod) => isOwn(pod))).map(({ target }) => target),
  };
}

function isMarked({ metadata, status }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.disruption] !== undefined || isTrue(status?.conditions, 'DisruptionReason');
}

function isGoing({ metadata }: Pick<NodeClaim | Node, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function decisionOf({ metadata, status }: NodeClaim): string | null {
  const decision = metadata.annotations?.[annotation.disruption];
  return decision === undefined || !isTrue(status?.conditions, 'DisruptionReason') ? null : decision;
}

function replacementsOf({ metadata }: NodeClaim): ReadonlyArray<string> {
  return (metadata.annotations?.[annotation.replacedBy] ?? '').split(',').filter(Boolean);
}
