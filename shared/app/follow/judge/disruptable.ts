import { CLOCK_SKEW_MS } from '../../facts/clock-skew.ts';
import { label } from '../../../contract/names.ts';
import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import { type ConditionChange, conditionOf } from '../../facts/conditions.ts';
import { deniedNoMore, deniedUntilMs } from '../../tell/denied-condition.ts';
import { publish } from '../../tell/events.ts';
import { claimsNamed, hintObjects } from '../../ports/hint-objects.ts';
import type { Ports } from '../../ports/ports.ts';
import { judgeConsolidatable, lastPodEvent, podEventFields } from './consolidatable.ts';
import { findShortfall } from './consistency.ts';
import { findDrift } from './drift.ts';
import { type Draft, commit, noted } from '../../claims/draft.ts';
import { eventAbout } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';

/**
 * Keeps what disruption chooses by right on a claim at rest: the conditions `Drifted` and `Consolidatable`, and when a
 * pod last came or went. One write of all that the draft has, or none. Acts on nothing: replacing nodes is the
 * disruption's business.
 */
export async function noteDisruptable(
  ports: Ports,
  draft: Draft,
  node: Node,
  podEventMs: number | null,
): Promise<FollowOutcome> {
  const { claim } = draft;
  const pool = claim.metadata.labels?.[label.nodePool];
  const [nodePool, nodeClass, kubeletIdentity] = await Promise.all([
    pool === undefined ? null : ports.definitions.nodePool(pool),
    ports.definitions.nodeClass(claim.spec.nodeClassRef.name),
    ports.nodeClassFacts.kubeletIdentity(),
  ]);
  const instanceTypes = nodeClass === null ? new Set<string>() : await ports.catalogs.instanceTypeNames(nodeClass);
  const drift = findDrift(claim, { pool: nodePool, nodeClass, node, instanceTypes, kubeletIdentity });
  const eventMs = lastPodEvent(claim, podEventMs, ports.now());
  const consolidatable = judgeConsolidatable(claim, nodePool, eventMs, ports.now());
  const conditions: ReadonlyArray<ConditionChange> = [
    ...(drift === null ? [] : [{ type: 'Drifted', status: 'True', ...drift } as const]),
    ...(consolidatable.kind === 'since' ? [CONSOLIDATABLE] : []),
    ...(await tellShortfall(ports, claim, node)),
  ];
  const said = new Set(conditions.map(({ type }) => type));
  const change = {
    conditions,
    clear: [
      ...['Drifted', 'Consolidatable', CONSISTENT].filter((type) => !said.has(type)),
      ...deniedNoMore(claim.status?.conditions, ports.now()),
    ],
    fields: podEventFields(eventMs),
  };
  await commit(ports, noted(ports, draft, change));
  // Of what is written only: where a policy denies the write each look would find the node initialized just now, and
  // ask for one more.
  if (consolidatable.kind === 'from') await lookThen(ports, claim, consolidatable.atMs);
  // What it says of a denied write comes off when that may be tried again, whether or not anybody tries.
  const deniedMs = deniedUntilMs(claim.status?.conditions, ports.now()) ?? 0;
  return { kind: 'wait', for: 'nothing: it is ready', lookAgainMs: deniedMs > ports.now() ? deniedMs : null };
}

const CONSOLIDATABLE: ConditionChange = {
  type: 'Consolidatable',
  status: 'True',
  reason: 'Consolidatable',
  message: '',
};

/** False where the node has much less than its claim expects. Nothing is decided by it: plans count what a node has. */
const CONSISTENT = 'ConsistentStateFound';

async function tellShortfall(ports: Ports, claim: NodeClaim, node: Node): Promise<ReadonlyArray<ConditionChange>> {
  const message = findShortfall(claim, node);
  if (message === null) return [];
  const reason = 'FailedConsistencyCheck';
  const known = conditionOf(claim.status?.conditions, CONSISTENT)?.message;
  if (known !== message) await publish(ports.kubernetes, eventAbout(claim, 'Warning', reason, message), ports.now());
  return [{ type: CONSISTENT, status: 'False', reason, message }];
}

/**
 * To the second, not on the coarse grid of other looks: how long a node stays unused is what `consolidateAfter` is
 * about.
 */
async function lookThen(ports: Ports, claim: NodeClaim, atMs: number): Promise<void> {
  // Whole seconds, as the time it is counted from: executions that wait for the same end ask for one look together. Not
  // the second of a look that came early by our clock: its key has been used, and the queue would drop the message.
  const second = Math.max(Math.ceil(atMs / 1000), Math.floor((ports.now() + CLOCK_SKEW_MS) / 1000) + 1);
  await hintObjects(ports, claimsNamed([claim.metadata.name]), {
    reason: 'consolidate-after',
    occasion: `consolidatable/${second}`,
    atMs: second * 1000,
  });
}
