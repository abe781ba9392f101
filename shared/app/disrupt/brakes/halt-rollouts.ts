import { annotation } from '../../../contract/names.ts';
import type { Snapshot } from '../../../contract/snapshot/parse.ts';
import type { Rollout } from '../../../core/model/disruption-input.ts';
import { rollouts, sidesOf, type Sides } from '../../../core/disruption/brakes/rollouts.ts';
import { worseThanBefore } from '../../../core/disruption/brakes/worse-than-before.ts';
import { renderRollout } from '../../../core/disruption/plan/render-kept.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { NodePod } from '../../../ports/kubernetes.ts';
import { type ConditionChange, conditionOf, isTrue } from '../../facts/conditions.ts';
import { publish } from '../../tell/events.ts';
import type { Gathered } from '../../gather/gather.ts';
import { alone, inParallel } from '../../ports/in-parallel.ts';
import { nodeNameOf } from '../../facts/node-name.ts';
import type { Ports } from '../../ports/ports.ts';
import { tellDenied } from '../../tell/tell-denied.ts';
import { asSentence } from '../tell/as-sentence.ts';
import { eventAboutPool } from '../../tell/event-about.ts';
import { tellCondition } from './pool-condition.ts';

/**
 * A container that has ended so often in its pod's life, which began on this node, crashes. Kubernetes waits a minute
 * and a half by then.
 */
const RESTARTS_MIN = 3;

/** Nodes whose pods are looked at in one look, a request each: the canary and the newest. */
const NODES_MAX = 5;

/** Pods of the same owner that are asked whether they crash elsewhere too. */
const SIBLINGS_MAX = 3;

/** What a NodePool shows of its new image or Kubernetes version. */
const TYPE = 'RolloutHealthy';

/** One event an hour for each state: an event lives as long. */
const TOLD_EVERY_MS = 3_600_000;

/**
 * What nodes behind a new image or Kubernetes version wait for. Looks first whether what is new does worse than what
 * was there, and halts it then, on the NodePool: so that every instance finds it, until somebody removes the
 * annotation.
 */
export async function watchRollouts(ports: Ports, gathered: Gathered): Promise<ReadonlyMap<string, Rollout>> {
  const { snapshot, input } = gathered;
  const { nodePools } = input.cluster;
  const found = new Map(rollouts(input.cluster, ports.now()));
  const worse = new Map(worseThanBefore(input.cluster, ports.now()).map(({ nodePool, why }) => [nodePool, why]));
  for (const pool of nodePools) {
    const sides = sidesOf(pool, snapshot.nodeClaims);
    const { name } = pool.metadata;
    if (sides === null || found.get(name)?.kind === 'halted') continue;
    // Pools with a bake time and a new release are few.
    const why = worse.get(name) ?? (await whyCrashing(ports, sides, snapshot));
    if (why === null) continue;
    found.set(name, { kind: 'halted', why });
    // What cannot be written now is found by the next look, and keeps no other pool waiting.
    await alone(() => haltRollout(ports, pool, why));
  }
  await tellRollouts(ports, nodePools, found);
  return found;
}

/** Writes on the NodePool why what is new in it goes no further. The first reason stays. */
export async function haltRollout(ports: Ports, { metadata }: Pick<NodePool, 'metadata'>, why: string): Promise<void> {
  const key = { name: metadata.name, namespace: null };
  const pool = await ports.kubernetes.get('NodePool', key);
  if (pool === null || pool.metadata.annotations?.[annotation.rolloutHalted] !== undefined) return;
  const { resourceVersion } = pool.metadata;
  const patch = { metadata: { resourceVersion, annotations: { [annotation.rolloutHalted]: why } } };
  const outcome = await ports.kubernetes.patch('NodePool', key, patch);
  // Whoever changed the pool meanwhile is followed by a look that finds the same.
  if (outcome.kind === 'written') ports.log('rollout-halted', { nodePool: metadata.name, why });
  if (outcome.kind === 'refused') await tellDenied(ports, outcome.refusal);
}

/** A pod crashes on a new node whose like do not elsewhere. */
async function whyCrashing(ports: Ports, { fresh }: Sides, snapshot: Snapshot): Promise<string | null> {
  const started = fresh.filter(({ status }) => isTrue(status?.conditions, 'Initialized'));
  const looked = [...new Set([...started.slice(0, 1), ...started.slice(1 - NODES_MAX)])].map(nodeNameOf);
  const pods = await inParallel(looked, NODES_MAX, (name) =>
    ports.kubernetes.list('Pod', { fields: `spec.nodeName=${name}` }),
  );
  const freshNodes = new Set(fresh.map(nodeNameOf));
  for (const pod of pods.flat().filter(isCrashing)) {
    // The first that crashes only there ends it.
    if (await crashesElsewhere(ports, pod, snapshot, freshNodes)) continue;
    const { namespace, name } = pod.metadata;
    return `pod ${namespace}/${name} crashes on the new node ${pod.spec.nodeName ?? ''}, while its siblings on other nodes do not`;
  }
  return null;
}

function isCrashing({ metadata, status }: NodePod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (status?.containerStatuses ?? []).some(
    ({ restartCount = 0, state }) => restartCount >= RESTARTS_MIN || state?.waiting?.reason === 'CrashLoopBackOff',
  );
}

/** Do pods of the same owner crash on nodes that were there before? Then it is not the new image's doing. */
async function crashesElsewhere(
  ports: Ports,
  { metadata }: NodePod,
  { pods, shapes }: Snapshot,
  freshNodes: ReadonlySet<string>,
): Promise<boolean> {
  const owners = new Set(metadata.ownerReferences?.map(({ uid }) => uid));
  const siblings = pods.filter(({ nodeName, shape, deleting }) => {
    if (nodeName === null || freshNodes.has(nodeName) || deleting) return false;
    return owners.has(shapes[shape]?.owner?.uid ?? '');
  });
  const asked = await inParallel(siblings.slice(0, SIBLINGS_MAX), SIBLINGS_MAX, ({ name }) =>
    ports.kubernetes.get('Pod', { namespace: metadata.namespace, name }),
  );
  return asked.some((pod) => pod !== null && isCrashing(pod));
}

/** Condition, event and log, where that is news. Nothing is written on a pool that never had a canary. */
async function tellRollouts(
  ports: Ports,
  nodePools: ReadonlyArray<NodePool>,
  found: ReadonlyMap<string, Rollout>,
): Promise<void> {
  for (const pool of nodePools) {
    const change = conditionFor(pool, found.get(pool.metadata.name));
    const known = conditionOf(pool.status?.conditions, TYPE);
    const isTold =
      known === undefined
        ? change.status === 'True'
        : known.status === change.status && known.message === change.message;
    // Pools with news are rare. What cannot be told now is told by the next look, and keeps no other waiting.
    if (!isTold) await alone(() => tell(ports, pool, change));
  }
}

function conditionFor({ metadata }: NodePool, rollout: Rollout | undefined): ConditionChange {
  if (rollout === undefined) return { type: TYPE, status: 'True', reason: TYPE, message: '' };
  const message = asSentence(renderRollout(metadata.name, rollout));
  return rollout.kind === 'halted'
    ? { type: TYPE, status: 'False', reason: 'RolloutHalted', message }
    : { type: TYPE, status: 'Unknown', reason: 'CanaryFirst', message };
}

async function tell(ports: Ports, pool: NodePool, change: ConditionChange): Promise<void> {
  const told = await tellCondition(ports, pool, change);
  if (told === null) return;
  const { name } = pool.metadata;
  if (change.status === 'True') ports.log('rollout-goes-on', { nodePool: name });
  const note =
    change.status === 'True'
      ? eventAboutPool(told.pool, 'Normal', 'RolloutGoesOn', 'The rollout continues: nodes no longer wait for a canary')
      : eventAboutPool(told.pool, change.status === 'False' ? 'Warning' : 'Normal', change.reason, change.message);
  await publish(ports.kubernetes, { ...note, dedupe: { key: note.message, periodMs: TOLD_EVERY_MS } }, ports.now());
}
