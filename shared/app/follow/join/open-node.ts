import { HELD_BACK_MS } from '../../gather/crowds.ts';
import { label, taint } from '../../../contract/names.ts';
import type { Snapshot } from '../../../contract/snapshot/parse.ts';
import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import { RefusedError } from '../../../ports/errors.ts';
import type { Mover } from '../../../ports/store.ts';
import { isTrue } from '../../facts/conditions.ts';
import { alone } from '../../ports/in-parallel.ts';
import { WRITE_DENIED } from '../../tell/denied-condition.ts';
import { claimFacts } from '../../facts/claim-facts.ts';
import type { Ports } from '../../ports/ports.ts';
import { latestReadable } from '../../gather/read-snapshot.ts';
import { createdAtMs, transitionMs } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { patchNode } from '../../claims/patch-node.ts';
import { lookOnceSettled } from './look-once-settled.ts';
import { obstacleOf } from './initialize.ts';
import { withoutBudgeted, withoutHeldByBudget } from '../../gather/movers/budgeted.ts';
import { heirsOf, withoutHeldUp } from '../../gather/movers/heirs.ts';
import { matesOf } from '../../gather/movers/mates.ts';
import { moversOf, plannedIn } from '../../gather/movers/planned.ts';
import { lastPodEvent } from '../judge/consolidatable.ts';
import {
  decisionOf,
  enter,
  letIn,
  letMissingIn,
  nominate,
  nominateNoMore,
  dedicationOf,
} from '../../gather/planned-pods.ts';

/**
 * How long after its registration a node is kept for its planned pods at most. The scheduler binds them within a
 * second; one that has refused a pod often waits up to ten before it tries again, and pods that spread over zones wait
 * for the nodes of other zones, which boot some seconds sooner or later.
 */
const DEDICATED_MS = 30_000;

/**
 * ... and while pods that it was planned for are to be evicted elsewhere first. Its replaced nodes go within a look of
 * the disruption and the notice of an interruption; a drain that a budget holds up for longer keeps nobody else out.
 */
const MOVING_MS = 3 * 60_000;

/**
 * ... and while pods leave the node that drains: where none has come for so long something holds the others up, such as
 * a budget of pods, and nobody knows for how long.
 */
const HELD_UP_MS = 60_000;

/**
 * ... and while a budget of pods holds them: where they drain once nobody has come for so long, and where they are to
 * be removed with replacements that are all in use. It may wait for pods that would come to this very node: a spread
 * may keep them from where they are planned until others have left.
 */
const BUDGETED_MS = 15_000;

/** ... and with a startup taint on it, under which they cannot come: a driver's installation takes minutes. */
const STARTING_MS = 10 * 60_000;

/**
 * Between looks at a dedicated node. That its pods come, or a startup taint goes, is told by the relay; that one has
 * found room elsewhere is not, and that is how every fifth node of a churn gets open.
 */
const LOOK_MS = 5_000;
const MOVING_LOOK_MAX_MS = 10_000;
const LOOK_MAX_MS = 20_000;
const STARTING_LOOK_MAX_MS = 60_000;

/** Puts off the look at whether the planned pods have come. */
export function awaitPlanned(ports: Ports, claim: NodeClaim, node: Node): FollowOutcome {
  const longestMs = isStarting(claim, node) ? STARTING_LOOK_MAX_MS : LOOK_MAX_MS;
  const lookAgainMs = Math.min(nextLookMs(ports, claim, longestMs), endOfDedication(claim, node));
  return { kind: 'wait', for: 'the pods that its node was made for', lookAgainMs };
}

/** After as long as it has been there, within bounds. */
function nextLookMs(ports: Ports, claim: NodeClaim, longestMs: number): number {
  const thereMs = ports.now() - transitionMs(claim, 'Registered');
  return ports.now() + Math.min(Math.max(LOOK_MS, thereMs), longestMs);
}

/** When everybody is let in, whoever has not come. */
function endOfDedication(claim: NodeClaim, node: Node): number {
  return transitionMs(claim, 'Registered') + (isStarting(claim, node) ? STARTING_MS : DEDICATED_MS);
}

function isStarting(claim: NodeClaim, node: Node): boolean {
  const present = node.spec?.taints ?? [];
  return (claim.spec.startupTaints ?? []).some(({ key, effect }) =>
    present.some((one) => one.key === key && one.effect === effect),
  );
}

/** A node that everybody may use from now on; null when it has gone meanwhile. */
export interface Opened {
  readonly kind: 'opened';
  readonly node: Node | null;
}

/**
 * Lets everybody onto a dedicated node once its planned pods have come, or found room elsewhere, or have had their
 * time. When nothing else is missing, the same write marks it as initialized.
 */
export async function openNode(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  podEventMs: number | null = null,
): Promise<FollowOutcome | Opened> {
  const dedication = await dedicationOf(ports, claim);
  const waiting = await letMissingIn(ports, claim, node.metadata.name, dedication);
  const late = ports.now() >= endOfDedication(claim, node);
  if (waiting.length > 0 && !late) return awaitPlanned(ports, claim, node);
  const moving = await awaitMovers(ports, claim, node, podEventMs);
  if (moving !== null) return moving;
  const isShut = isTrue(claim.status?.conditions, WRITE_DENIED);
  if (!isShut) await nominate(ports, node.metadata.name, waiting);
  const isUsable = (await obstacleOf(ports, claim, withoutDedication(node))) === null;
  const opened = await alone(() => openToAll(ports, node, isUsable));
  if (opened.kind === 'failed') {
    if (!isShut && opened.error instanceof RefusedError) {
      await nominateNoMore(ports, node.metadata.name, dedication.pods);
    }
    throw opened.error;
  }
  await lookOnceSettled(ports, claim);
  ports.log('node-opened', {
    ...claimFacts(claim),
    node: node.metadata.name,
    planned: dedication.pods.length,
    stillWaiting: waiting.length,
    sinceCreatedMs: ports.now() - createdAtMs(claim),
  });
  return { kind: 'opened', node: opened.answer };
}

function openToAll(ports: Ports, node: Node, isUsable: boolean): Promise<Node | null> {
  return patchNode(ports, node, (current) => ({
    metadata: {
      resourceVersion: current.metadata.resourceVersion,
      ...(isUsable ? { labels: { [label.initialized]: 'true' } } : {}),
    },
    spec: { taints: withoutDedication(current).spec?.taints ?? [] },
  }));
}

/**
 * Lets in the successors of pods that have moved, and who may have the place of one that has not; null when nobody is
 * waited for any more, or not for longer.
 */
async function awaitMovers(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  podEventMs: number | null,
): Promise<FollowOutcome | null> {
  const sinceMs = transitionMs(claim, 'Registered');
  const decision = await decisionOf(ports, claim);
  const endMs = sinceMs + (decision?.crowds === undefined ? MOVING_MS : HELD_BACK_MS);
  if (ports.now() >= endMs) return null;
  const all = moversOf(decision, claim.metadata.name);
  const snapshot = all.length === 0 ? null : await latestReadable(ports);
  if (snapshot === null) return null;
  const cameMs = Math.max(sinceMs, lastPodEvent(claim, podEventMs, ports.now()) ?? 0);
  // Who comes in turn is waited for, whatever holds the others up.
  const movers = decision?.crowds === undefined ? withoutHeld(all, snapshot, cameMs, ports.now()) : all;
  const heirs = heirsOf(movers, node.metadata.name, snapshot, new Set(plannedIn(decision)));
  const { name: value } = claim.metadata;
  const waiting = await letIn(ports, claim, node.metadata.name, { value, pods: heirs.waiting });
  if (waiting.length + heirs.awaited === 0) return null;
  // They have places of their own: who may not be changed waits for that.
  await enter(ports, claim, node.metadata.name, { value, pods: matesOf(decision, value, snapshot) });
  const lookAgainMs = Math.min(nextLookMs(ports, claim, MOVING_LOOK_MAX_MS), endMs);
  return { kind: 'wait', for: 'the successors of pods that move to its node', lookAgainMs };
}

/** Without those of whom nobody knows when they leave. `cameMs`: when a pod last came to the node, or it joined. */
function withoutHeld(
  all: ReadonlyArray<Mover>,
  snapshot: Snapshot,
  cameMs: number,
  nowMs: number,
): ReadonlyArray<Mover> {
  const [heldUpMs, budgetedMs] = [nowMs - HELD_UP_MS, nowMs - BUDGETED_MS];
  const coming = cameMs > heldUpMs ? all : withoutHeldUp(all, snapshot, heldUpMs);
  const leaving = cameMs > budgetedMs ? coming : withoutHeldByBudget(coming, snapshot, budgetedMs);
  return withoutBudgeted(leaving, snapshot, budgetedMs);
}

/** Is the node kept for pods that run elsewhere, so that it is in use before anybody has come? */
export async function isForMovers(ports: Ports, claim: NodeClaim): Promise<boolean> {
  return moversOf(await decisionOf(ports, claim), claim.metadata.name).length > 0;
}

/** As it will be when it is open. */
export function withoutDedication(node: Node): Node {
  const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.dedicated.key);
  return { ...node, spec: { ...node.spec, taints } };
}
