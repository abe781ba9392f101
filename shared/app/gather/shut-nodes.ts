import { annotation } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Node, NodeClaim } from '../../kubernetes/manifest.ts';
import { isDedicated } from '../../kubernetes/dedicated-taint.ts';
import { createdAtMs } from '../claims/node-claim.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { isWaiting } from './dedications.ts';
import { WRITE_DENIED } from '../tell/denied-condition.ts';

/** Has it registered, and may not be written since? Its pods' tolerations can be. */
export function isShut({ status }: NodeClaim): boolean {
  return isTrue(status?.conditions, 'Registered') && isTrue(status?.conditions, WRITE_DENIED);
}

/** Those who may be let in to a node that cannot be opened have been by then: each minute somebody tries. */
const SHUT_MS = 3 * 60_000;

/**
 * The nodes, by name, that are kept and may not be written, while somebody has waited as long: who has been let in does
 * not fit or finds the node not ready, and who has not may not be written either. They have no place there, and are
 * planned for as if there were no such node.
 */
export function shutNodes(
  { nodeClaims, pods }: Snapshot,
  nodes: ReadonlyMap<string, Node>,
  nowMs: number,
): ReadonlySet<string> {
  const waited = pods.some((pod) => isWaiting(pod) && nowMs >= pod.createdAtMs + SHUT_MS);
  if (!waited) return new Set();
  const isOld = (claim: NodeClaim): boolean => {
    const denied = conditionOf(claim.status?.conditions, WRITE_DENIED);
    return isShut(claim) && nowMs >= Date.parse(denied?.lastTransitionTime ?? '') + SHUT_MS;
  };
  return new Set(
    nodeClaims
      .filter(isOld)
      .map(nodeNameOf)
      .filter((name) => isDedicated(nodes.get(name) ?? null)),
  );
}

/** As long as a claim without a node is waited for, and two minutes in which it is given up. */
const GIVEN_UP_MS = 17 * 60_000;

/**
 * The snapshot, in which claims say that they are given up that nobody lets us say so on, nor delete: their node has
 * not come, or not come back, in all the time that there is for it. No pod has a place there.
 */
export function withGivenUp(snapshot: Snapshot, nowMs: number): Snapshot {
  const nodes = new Set(snapshot.nodes.map(({ metadata }) => metadata.name));
  const isLost = (claim: NodeClaim): boolean => isOverdue(claim, nowMs) && !nodes.has(nodeNameOf(claim));
  if (!snapshot.nodeClaims.some(isLost)) return snapshot;
  const nodeClaims = snapshot.nodeClaims.map((claim) => (isLost(claim) ? asGivenUp(claim) : claim));
  return { ...snapshot, nodeClaims };
}

function isOverdue(claim: NodeClaim, nowMs: number): boolean {
  const { conditions } = claim.status ?? {};
  if (!isTrue(conditions, WRITE_DENIED) || isTrue(conditions, 'Registered')) return false;
  const missedMs = Date.parse(conditionOf(conditions, 'Registered')?.lastTransitionTime ?? '') || 0;
  return nowMs > Math.max(createdAtMs(claim), missedMs) + GIVEN_UP_MS;
}

function asGivenUp(claim: NodeClaim): NodeClaim {
  const annotations = { ...claim.metadata.annotations, [annotation.givenUp]: 'RegistrationTimeout' };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}
