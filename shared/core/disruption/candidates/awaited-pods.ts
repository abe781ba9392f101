import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import { compileSelector, selects } from '../../rules/selector.ts';
import type { Instant } from '../../quantity/units.ts';
import { isLeaving, machinesOf } from '../../present/existing-capacity.ts';
import { pendingPods } from '../../present/pending-pods.ts';
import { withoutLeaving } from '../../present/without-leaving.ts';
import { planProvisioning } from '../../plan-provisioning.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { JudgedNode } from './judged-node.ts';

/** What is to come to nodes that are there, as provisioning plans it at the same moment. */
export interface Awaited {
  /** By name of node, or of a claim that is to have one: pods that wait and will find room there. */
  readonly pods: ReadonlyMap<string, ReadonlyArray<Pod>>;
  /** By name of node: the buffer that keeps room there. */
  readonly buffers: ReadonlyMap<string, string>;
}

const NOTHING: Awaited = { pods: new Map(), buffers: new Map() };

/**
 * Asks provisioning, where anything waits or a buffer wants room. What it would put on new nodes does not matter here.
 * Pods on nodes that are leaving wait too, but for those that stay as long as their node does.
 */
export function awaitedOn(given: ProvisioningInput, now: Instant): Awaited {
  const input = withoutLeaving(given, leavingIn(given.cluster), now);
  const { cluster, inFlight } = input;
  // Stryker disable next-line ConditionalExpression: a shortcut, where nothing waits nothing is planned for
  if (cluster.capacityBuffers.length === 0 && pendingPods(cluster, inFlight, now).length === 0) return NOTHING;
  const plan = planProvisioning(input, now);
  const byUid = new Map(cluster.pods.map((pod) => [pod.uid, pod]));
  const pods = new Map(
    plan.nominations.map(({ target, pods: own }) => [target.name, own.flatMap(({ uid }) => byUid.get(uid) ?? [])]),
  );
  const buffers = new Map(
    plan.buffers.flatMap(({ buffer, nominations }) => nominations.map(({ target }) => [target.name, buffer] as const)),
  );
  return { pods, buffers };
}

function leavingIn(cluster: Cluster): ReadonlyArray<string> {
  return machinesOf(cluster)
    .filter(isLeaving)
    .flatMap(({ node, claim }) => (node ?? claim)?.metadata.name ?? []);
}

/**
 * Nodes that something is to come to stay. One that keeps room for a buffer is known to have no more of it. Where pods
 * of a node are even with, or beside, pods that wait, it stays until these have come: nobody knows in which order they
 * would.
 */
export function withAwaited(
  nodes: ReadonlyArray<JudgedNode>,
  { pods, buffers }: Awaited,
  { shapes }: Pick<Cluster, 'shapes'>,
): ReadonlyArray<JudgedNode> {
  const waiting = new Set([...pods.values()].flatMap((own) => own.map(({ shape }) => shape)));
  const counted = [...waiting].flatMap((shape) => shapes[shape] ?? []);
  const leaning = new Set(
    shapes.flatMap((shape, index) => (counted.some((one) => leansOn(shape, one)) ? [index] : [])),
  );
  return nodes.map((node): JudgedNode => {
    const [coming, buffer] = [pods.get(node.name) ?? [], buffers.get(node.name)];
    if (node.verdict.kind === 'stays' && buffer === undefined) return node;
    if (buffer === undefined && node.moving.some(({ shape }) => leaning.has(shape))) {
      return { ...node, verdict: { kind: 'stays', reason: { kind: 'pods-first' } } };
    }
    if (node.verdict.kind === 'must') return node;
    if (buffer !== undefined) {
      return { ...node, isFull: true, verdict: { kind: 'stays', reason: { kind: 'holds-buffer', buffer } } };
    }
    if (coming.length === 0) return node;
    return { ...node, verdict: { kind: 'stays', reason: { kind: 'awaits-pods', pods: coming.length } } };
  });
}

/**
 * Does a rule of pods of `shape`, which must hold, count pods of `other`? In whatever namespace, which at worst makes a
 * node wait.
 */
function leansOn({ spec }: PodShape, { labels }: PodShape): boolean {
  const spreads = (spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  );
  const beside = spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return [...spreads, ...beside].some(({ labelSelector }) => selects(compileSelector(labelSelector), labels));
}
