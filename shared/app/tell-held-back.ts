import { label } from '../contract/names.ts';
import { isDisrupted } from '../kubernetes/disrupted-taint.ts';
import type { Plan, PodReference } from '../core/model/plan.ts';
import { publish } from './events.ts';
import type { Gathered } from './gather.ts';
import { inParallel } from './in-parallel.ts';
import { aboutPod } from './pod-key.ts';
import type { Ports } from './ports.ts';

/** An event lives as long. */
const TOLD_EVERY_MS = 60 * 60_000;

/** Events of one plan, at most. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

/** Nodes that an event names; a pod that waits for more is told how many there are. */
const NAMED_MAX = 3;

/**
 * Tells pods that wait, though there is room for them on a node that is in use, for which nodes: their spread over hosts counts one that goes
 * for as long as it is there, and the scheduler says of it only that a spread forbids. Once an hour each.
 */
export async function tellHeldBack(
  ports: Ports,
  { snapshot, input }: Pick<Gathered, 'snapshot' | 'input'>,
  { nominations }: Pick<Plan, 'nominations'>,
): Promise<void> {
  const { crowds } = input;
  if (crowds === undefined || nominations.length === 0) return;
  const going = snapshot.nodes.filter((node) => isDisrupted(node) || node.metadata.deletionTimestamp !== undefined);
  if (going.length === 0) return;
  const usable = new Set(snapshot.nodes.flatMap(({ metadata }) => (isInUse(metadata) ? [metadata.name] : [])));
  const waiting = new Set(
    snapshot.pods.flatMap(({ uid, nodeName, unschedulable, shape }) =>
      nodeName === null && unschedulable && crowds.has(shape) ? [uid] : [],
    ),
  );
  const told = nominations.flatMap(({ target, pods }) =>
    target.kind === 'node' && usable.has(target.name)
      ? pods.filter(({ uid }) => waiting.has(uid)).map((pod) => ({ pod, node: target.name }))
      : [],
  );
  const names = going.map(({ metadata }) => metadata.name).toSorted();
  const news = told.filter(({ pod }) => !ports.told.isKnown(keyOf(pod), ports.now()));
  await inParallel(news.slice(0, TOLD_MAX), TOLD_AT_ONCE, async ({ pod, node }) => {
    if (!ports.told.isNews(keyOf(pod), ports.now(), TOLD_EVERY_MS)) return;
    const message = `The place of this pod is on node ${node}, and it can come there once ${named(names)} gone: until then its spread over hosts counts that as a host without pods`;
    await publish(
      ports.kubernetes,
      { regarding: aboutPod(pod), type: 'Normal', reason: 'WaitingForNodeRemoval', message },
      ports.now(),
    );
  });
}

function isInUse({ labels }: { readonly labels?: Readonly<Record<string, string>> }): boolean {
  return labels?.[label.initialized] === 'true';
}

function named(names: ReadonlyArray<string>): string {
  if (names.length > NAMED_MAX) return `the ${names.length} nodes that are being removed have`;
  return names.length === 1 ? `node ${names.join('')} has` : `nodes ${names.join(', ')} have`;
}

function keyOf({ uid }: PodReference): string {
  return `held-back/${uid}`;
}
