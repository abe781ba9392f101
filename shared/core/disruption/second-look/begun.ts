import { otherTaints } from '../../../kubernetes/disrupted-taint.ts';
import { markKey } from '../../../kubernetes/marks.ts';
import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import type { Cluster } from '../../model/cluster.ts';
import { machinesOf } from '../../present/existing-capacity.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';
import { changedMs, says } from '../candidates/claim-conditions.ts';

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
  /** Those of them that Azure had no capacity for: nothing was made, and it says nothing about the NodePool. */
  readonly unavailable: ReadonlyArray<string>;
  /** When the last of them was marked, milliseconds since the epoch. */
  readonly sinceMs: number;
}

/** The claims that have a node, each with it. */
export function candidatesOf(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Candidate> {
  return machinesOf(cluster).flatMap(({ claim, node }) => (claim === null || node === null ? [] : [{ claim, node }]));
}

/**
 * What has been begun and is not decided yet: claims marked to go that are not being deleted. A node that is only
 * tainted is not ours to judge: an interruption taints it a moment before it deletes the claim.
 */
export function begunIn(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Begun> {
  const candidates = candidatesOf(cluster).filter(
    ({ claim, node }) => isMarked(claim) && !isGoing(claim) && !isGoing(node),
  );
  const byDecision = Map.groupBy(candidates, ({ claim }) => decisionOf(claim));
  return [...byDecision].map(([decision, own]) => ({
    decision,
    candidates: own,
    ...replacementsOfAll(own.map(({ claim }) => claim)),
    sinceMs: Math.max(...own.map(({ claim }) => changedMs(claim, 'DisruptionReason'))),
  }));
}

/**
 * From here on a decision that waits keeps no other from being made. Before, the cluster is about to change, and what
 * is decided on it as it is would be decided otherwise a moment later; a machine that boots well is a node by then.
 */
const SLOW_MS = 2 * 60_000;

/** Does none of them keep another decision from being made? */
export function areSlow(begun: ReadonlyArray<Begun>, now: number): boolean {
  return begun.every(({ sinceMs }) => now >= sinceMs + SLOW_MS);
}

function replacementsOfAll(claims: ReadonlyArray<NodeClaim>): Pick<Begun, 'replacements' | 'unavailable'> {
  const replacements = new Set(claims.flatMap(replacementsOf));
  const refused = claims.flatMap(({ metadata }) => namesIn(metadata.annotations?.[markKey.replacementUnavailable]));
  return { replacements: [...replacements], unavailable: [...replacements.intersection(new Set(refused))] };
}

/** Names of the claims that were launched in place of one that goes; none where nothing was launched for it. */
export function replacementsOf({ metadata }: NodeClaim): ReadonlyArray<string> {
  return namesIn(metadata.annotations?.[markKey.replacedBy]);
}

/**
 * The replacements that are gone, or are going, by no fault of their own: Azure had no capacity for them or has taken
 * them, or somebody has deleted them.
 */
export function lostOf(
  { replacements, unavailable }: Pick<Begun, 'replacements' | 'unavailable'>,
  { nodeClaims }: Pick<Cluster, 'nodeClaims'>,
): ReadonlyArray<string> {
  const claims = new Map(nodeClaims.map((claim) => [claim.metadata.name, claim]));
  return replacements.filter((name) => {
    const claim = claims.get(name);
    if (claim === undefined) return unavailable.includes(name);
    const { annotations = {}, deletionTimestamp } = claim.metadata;
    return (
      deletionTimestamp !== undefined && (annotations[markKey.givenUp] === undefined || unavailable.includes(name))
    );
  });
}

function namesIn(list: string | undefined): ReadonlyArray<string> {
  return (list ?? '').split(',').filter(Boolean);
}

/** The nodes as they would be without the mark, to judge them anew. */
export function withoutMarks(nodes: ReadonlyArray<Node>, { candidates }: Begun): ReadonlyArray<Node> {
  const own = new Set(candidates.map(({ node }) => node.metadata.name));
  return nodes.map((node) =>
    own.has(node.metadata.name) ? { ...node, spec: { ...node.spec, taints: otherTaints(node) } } : node,
  );
}

/**
 * From when a pod is bound until its kubelet says that it has it; and pod events are told of once in ten seconds, so
 * that the last that is known may be older than the last.
 */
const COMING_MS = 5_000;

/**
 * The claims as they were when they were marked, where pods have come or gone since, or left just before, which is told
 * some seconds late: nobody comes to a closed node, and one that pods have left is no less to be removed. Who had come
 * all the same runs on it, and is judged as any other.
 */
export function asMarked(
  { nodeClaims, pods }: Pick<Cluster, 'nodeClaims' | 'pods'>,
  { candidates, sinceMs }: Begun,
): ReadonlyArray<NodeClaim> {
  const nodeOf = new Map(candidates.map(({ claim, node }) => [claim.metadata.name, node.metadata.name]));
  return nodeClaims.map((claim) => {
    const { metadata, status } = claim;
    const node = nodeOf.get(metadata.name);
    const eventMs = parseTimestamp(status?.lastPodEventTime);
    if (node === undefined || eventMs === null) return claim;
    const isArrival = pods.some(({ nodeName, startedAtMs }) => {
      return nodeName === node && (startedAtMs === null || startedAtMs >= eventMs - COMING_MS);
    });
    if (eventMs < sinceMs && isArrival) return claim;
    const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Consolidatable');
    const { lastPodEventTime: _, ...before } = status ?? {};
    return { ...claim, status: { ...before, conditions: [...others, { type: 'Consolidatable', status: 'True' }] } };
  });
}

/**
 * The nodes called `names` without the mark, and closed to new pods all the same: as they are until it is taken off.
 */
export function cordoned(nodes: ReadonlyArray<Node>, names: ReadonlySet<string>): ReadonlyArray<Node> {
  return nodes.map((node) =>
    names.has(node.metadata.name) ? { ...node, spec: { ...node.spec, taints: [...otherTaints(node), CORDON] } } : node,
  );
}

const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const;

/** Has disruption said of the claim that it is to go? */
export function isMarked(claim: NodeClaim): boolean {
  return claim.metadata.annotations?.[markKey.disruption] !== undefined || says(claim, 'DisruptionReason');
}

function isGoing({ metadata }: Pick<NodeClaim | Node, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The decision that the claim is to go by; null where none says so. */
export function decisionOf(claim: NodeClaim): string | null {
  const decision = claim.metadata.annotations?.[markKey.disruption];
  return decision === undefined || !says(claim, 'DisruptionReason') ? null : decision;
}
