import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import type { Plan } from '../../core/model/plan.ts';
import { initializedNodes } from '../../core/present/initialized-nodes.ts';
import type { Gathered } from '../gather/gather.ts';
import type { Ports } from '../ports/ports.ts';
import { tellWaitingPods } from './tell-waiting-pods.ts';

/** Nodes that an event names; a pod that waits for more is told how many there are. */
const NAMED_MAX = 3;

/**
 * Tells pods that wait, though there is room for them on a node that is in use, for which nodes: their spread over
 * hosts counts one that goes for as long as it is there, and the scheduler says of it only that a spread forbids. Once
 * an hour each.
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
  const inUse = initializedNodes(snapshot);
  const waiting = new Set(
    snapshot.pods.flatMap(({ uid, nodeName, unschedulable, shape }) =>
      nodeName === null && unschedulable && crowds.has(shape) ? [uid] : [],
    ),
  );
  const names = going.map(({ metadata }) => metadata.name).toSorted();
  const news = nominations.flatMap(({ target, pods }) => {
    if (target.kind !== 'node' || !inUse.has(target.name)) return [];
    const message = `This pod will run on node ${target.name} once ${named(names)} been removed: until then its topology spread counts ${names.length === 1 ? 'it as a host' : 'them as hosts'} without such pods`;
    return pods
      .filter(({ uid }) => waiting.has(uid))
      .map((pod) => {
        const key = `held-back/${pod.uid}`;
        return { pod, key, type: 'Normal', reason: 'WaitingForNodeRemoval', message } as const;
      });
  });
  await tellWaitingPods(ports, news);
}

function named(names: ReadonlyArray<string>): string {
  if (names.length > NAMED_MAX) return `the ${names.length} nodes that are being removed have`;
  return names.length === 1 ? `node ${names.join('')} has` : `nodes ${names.join(', ')} have`;
}
