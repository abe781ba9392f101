import type { Snapshot } from '../contract/snapshot/parse.ts';
import type { Plan, PodReference } from '../core/model/plan.ts';
import type { NodeClaim } from '../kubernetes/manifest.ts';
import { conditionOf, isTrue } from './conditions.ts';
import { publish } from './events.ts';
import { inParallel } from './in-parallel.ts';
import { claimOfVm } from './node-name.ts';
import { aboutPod } from './pod-key.ts';
import type { Ports } from './ports.ts';

/** A driver's installation takes up to so long. */
const STARTED_MS = 10 * 60_000;

/** An event lives as long. */
const TOLD_EVERY_MS = 60 * 60_000;

/** Events of one plan, at most. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

/**
 * Tells pods whose place is on a node that has registered and does not come into use what that waits for. As in Karpenter the node is kept
 * and its room is counted on, for however long: who looks why a pod waits finds nothing else. Once an hour, whatever node it is.
 */
export async function tellSlowNodes(
  ports: Ports,
  { nodeClaims }: Pick<Snapshot, 'nodeClaims'>,
  { nominations }: Pick<Plan, 'nominations'>,
): Promise<void> {
  const slow = new Map(nodeClaims.filter((claim) => isSlow(claim, ports.now())).map((one) => [one.metadata.name, one]));
  if (slow.size === 0) return;
  const told = nominations.flatMap(({ target: { kind, name }, pods }) => {
    const claim = slow.get((kind === 'claim' ? name : claimOfVm(name)) ?? '');
    const { message = '' } = conditionOf(claim?.status?.conditions, 'Initialized') ?? {};
    return claim === undefined ? [] : pods.map((pod) => ({ pod, claim: claim.metadata.name, message }));
  });
  // Each look at pods that wait comes here, and pods wait for these. Whoever is too many now is told by the next.
  const news = told.filter((one) => !ports.told.isKnown(keyOf(one), ports.now()));
  await inParallel(news.slice(0, TOLD_MAX), TOLD_AT_ONCE, async (one) => {
    if (!ports.told.isNews(keyOf(one), ports.now(), TOLD_EVERY_MS)) return;
    const { pod, claim, message } = one;
    const regarding = aboutPod(pod);
    const text = `The place of this pod is on the node of NodeClaim ${claim}, which is not in use yet: ${message}`;
    await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'NodeNotInUse', message: text }, ports.now());
  });
}

function keyOf({ pod, message }: { readonly pod: PodReference; readonly message: string }): string {
  return `not-in-use/${pod.uid}/${message}`;
}

function isSlow({ metadata, status }: NodeClaim, nowMs: number): boolean {
  if (metadata.deletionTimestamp !== undefined || isTrue(status?.conditions, 'Initialized')) return false;
  const registered = conditionOf(status?.conditions, 'Registered');
  const sinceMs = Date.parse(registered?.lastTransitionTime ?? '');
  return registered?.status === 'True' && nowMs >= sinceMs + STARTED_MS;
}
