import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { isVoluntary, type DisruptionReason } from '../plan/disruption-reason.ts';
import type { KeptReason } from '../plan/kept-reason.ts';
import { conditionIn } from './claim-conditions.ts';
import type { JudgedNode } from './judged-node.ts';

/**
 * Why a node of the pool does not go for the reason; null where nothing holds it back. Nodes that are expired or sick,
 * and those that a static pool has too many, go all the same: their time, their illness or their number was said by
 * somebody else.
 */
export function poolBrake({ brakes }: DisruptionPolicy, nodePool: string, reason: DisruptionReason): KeptReason | null {
  const brake = brakes.get(nodePool);
  return brake === undefined || !isVoluntary(reason) ? null : { kind: 'pool-braked', nodePool, brake };
}

/** Why a claim has drifted when an image or a Kubernetes version is new: these, and no others, have canaries. */
const BEHIND: ReadonlySet<string> = new Set(['ImageDrift', 'K8sVersionDrift']);

/** Does a claim that has drifted for this reason wait for a canary? */
export function isReleaseDrift(reason: string | undefined): boolean {
  return BEHIND.has(reason ?? '');
}

/**
 * Nodes behind a new image or Kubernetes version wait where their pool says so; where a canary is wanted, the one goes
 * that disturbs least. One with no pods to move goes all the same: nothing comes in its place, unless its pool has a
 * fixed number of nodes.
 */
export function withRollouts(
  nodes: ReadonlyArray<JudgedNode>,
  { rollouts }: DisruptionPolicy,
): ReadonlyArray<JudgedNode> {
  // Stryker disable next-line ConditionalExpression: a shortcut, without roll-outs all are given back as they are
  if (rollouts.size === 0) return nodes;
  const canaries = new Set<JudgedNode>();
  for (const [nodePool, own] of Map.groupBy(nodes.filter(isReplacedForRelease), poolOf)) {
    if (rollouts.get(nodePool)?.kind !== 'canary') continue;
    const byDisruption = own.toSorted((a, b) => a.disruption - b.disruption || byCodeUnit(a.name, b.name));
    for (const least of byDisruption.slice(0, 1)) canaries.add(least);
  }
  return nodes.map((node): JudgedNode => {
    const nodePool = poolOf(node);
    const rollout = rollouts.get(nodePool);
    if (rollout === undefined || canaries.has(node) || !isReplacedForRelease(node)) return node;
    const reason = { kind: 'pool-braked', nodePool, brake: { kind: 'rollout', rollout } } as const;
    return { ...node, verdict: { kind: 'stays', reason } };
  });
}

function poolOf({ nodePool }: JudgedNode): string {
  return nodePool?.metadata.name ?? '';
}

function isReplacedForRelease({ verdict, machine: { claim }, moving, nodePool }: JudgedNode): boolean {
  if (verdict.reason !== 'Drifted') return false;
  if (moving.length === 0 && nodePool?.spec.replicas === undefined) return false;
  return isReleaseDrift(conditionIn(claim?.status?.conditions, 'Drifted')?.reason);
}
