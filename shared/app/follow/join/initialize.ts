import { annotation, label, taint } from '../../../contract/names.ts';
import { awaitedDrivers } from '../../../core/devices/awaited-drivers.ts';
import type { Node, NodeClaim, Taint } from '../../../kubernetes/manifest.ts';
import { isPositive } from '../../../core/model/allocatable.ts';
import type { Ports } from '../../ports/ports.ts';
import { lastPodEvent, podEventFields } from '../judge/consolidatable.ts';
import { type Draft, noted } from '../../claims/draft.ts';
import { isReadyNode, written } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';

/** Taints that go by themselves while a node starts. Source: Karpenter `pkg/scheduling/taints.go`, 2026-08. */
const EPHEMERAL: ReadonlyArray<{ readonly key: string; readonly effect: string }> = [
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
  taint.unregistered,
  taint.dedicated,
  // Last: on a node that says that it is ready they are gone in a moment, and what stays is said once.
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
];

interface Obstacle {
  readonly reason: string;
  readonly message: string;
}

/** Drivers publish within seconds of their pod's start. */
const DRIVER_PAUSE_MS = 5_000;

/** Why a node is not initialized that Kubernetes has not opened yet. */
export const EPHEMERAL_TAINTS = 'KnownEphemeralTaintsExist';

const DEVICES_MISSING = 'DevicesNotPublished';

/** What the claim is to say, and what its node waits for; null once it is initialized. */
export interface Initialized {
  readonly draft: Draft;
  readonly wait: FollowOutcome | null;
}

/**
 * Marks a registered node as ready for use once nothing that starts with it is missing. `podEventMs` is noted until
 * then: who tells it tells it once. The claim's status is left to the caller to write.
 */
export async function initialize(
  ports: Ports,
  draft: Draft,
  node: Node,
  podEventMs: number | null = null,
): Promise<Initialized> {
  const { claim } = draft;
  const obstacle = await obstacleOf(ports, claim, node);
  if (obstacle !== null) {
    const told = noted(ports, draft, {
      conditions: [{ type: 'Initialized', status: 'Unknown', ...obstacle }],
      fields: podEventFields(lastPodEvent(claim, podEventMs, ports.now())),
    });
    // A driver's slices are no object that the relay sends hints about claims for.
    const lookAgainMs = obstacle.reason === DEVICES_MISSING ? ports.now() + DRIVER_PAUSE_MS : null;
    return { draft: told, wait: { kind: 'wait', for: obstacle.message, lookAgainMs } };
  }
  if (node.metadata.labels?.[label.initialized] !== 'true') {
    const { name } = node.metadata;
    const patch = { metadata: { labels: { [label.initialized]: 'true' } } };
    written(await ports.kubernetes.patch('Node', { name, namespace: null }, patch), name);
  }
  const conditions = [{ type: 'Initialized', status: 'True', reason: 'Initialized', message: '' }] as const;
  return { draft: noted(ports, draft, { conditions }), wait: null };
}

/** Is nothing missing for the node to be used, as far as the node itself tells all of it? */
export function isUsableAtOnce(ports: Ports, claim: NodeClaim, node: Node): boolean {
  return driversOf(ports, claim) === null && firstObstacle(claim, node) === null;
}

/** What is still missing for a node to be used; null when nothing is. */
export async function obstacleOf(ports: Ports, claim: NodeClaim, node: Node): Promise<Obstacle | null> {
  return firstObstacle(claim, node) ?? (await missingDriver(ports, claim, node));
}

/** Pods were planned for devices of the node: before their drivers have published them, nobody knows what there is. */
async function missingDriver(ports: Ports, claim: NodeClaim, node: Node): Promise<Obstacle | null> {
  const drivers = driversOf(ports, claim);
  if (drivers === null) return null;
  const { name } = node.metadata;
  const [driver] = awaitedDrivers(drivers, await ports.kubernetes.list('ResourceSlice'), name);
  if (driver === undefined) return null;
  return { reason: DEVICES_MISSING, message: `driver ${driver} has not published its devices of node ${name} yet` };
}

/** As the claim's annotation has them; null when no driver is waited for. */
function driversOf({ deviceSelectors }: Ports, { metadata }: NodeClaim): string | null {
  return deviceSelectors === null ? null : (metadata.annotations?.[annotation.requestedDrivers] ?? null);
}

function firstObstacle(claim: NodeClaim, node: Node): Obstacle | null {
  const { name } = node.metadata;
  if (!isReadyNode(node.status?.conditions)) return { reason: 'NodeNotReady', message: `Node ${name} is not ready` };
  const present = node.spec?.taints ?? [];
  const startup = (claim.spec.startupTaints ?? []).find((one) => has(present, one));
  if (startup !== undefined) {
    return { reason: 'StartupTaintsExist', message: `startup taint ${startup.key}:${startup.effect} is still present` };
  }
  const ephemeral =
    EPHEMERAL.find((one) => has(present, one)) ?? present.find(({ key }) => key.startsWith('readiness.k8s.io/'));
  if (ephemeral !== undefined) {
    return {
      reason: EPHEMERAL_TAINTS,
      message: `taint ${ephemeral.key}:${ephemeral.effect} is still present`,
    };
  }
  const requested = Object.entries(claim.spec.resources?.requests ?? {}).filter(([, quantity]) => isPositive(quantity));
  const missing = requested.find(([resource]) => !isPositive(node.status?.allocatable?.[resource] ?? '0'));
  return missing === undefined
    ? null
    : { reason: 'ResourceNotRegistered', message: `resource ${missing[0]} is requested but not registered yet` };
}

function has(taints: ReadonlyArray<Taint>, wanted: { readonly key: string; readonly effect: string }): boolean {
  return taints.some(({ key, effect }) => key === wanted.key && effect === wanted.effect);
}
