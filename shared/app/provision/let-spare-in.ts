import type { Plan } from '../../core/model/plan.ts';
import { enter } from '../gather/planned-pods.ts';
import type { Gathered } from '../gather/gather.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

/** Nodes at once; each lets so many in at once itself. */
const NODES_AT_ONCE = 4;

/** It is let in once; where that was lost, some looks later again. */
const LET_IN_EVERY_MS = 60_000;

/**
 * Pods that wait and that a plan sends to a node that is kept for others have room there beside all of those, as the
 * plan has given each of them theirs first. So they are let in at once: nothing else is bought for them, and the node
 * may be kept for minutes.
 */
export async function letSpareIn(
  ports: Ports,
  { snapshot, input, kept }: Gathered,
  { nominations }: Pick<Plan, 'nominations'>,
): Promise<void> {
  if (kept.size === 0 || !ports.dedicatesNodes) return;
  const waiting = new Set(snapshot.pods.flatMap(({ uid, nodeName }) => (nodeName === null ? [uid] : [])));
  const placed = new Set(nominations.flatMap((one) => one.pods.map(({ uid }) => uid)));
  // Where pods are that this plan places nowhere: they stay, or nothing may evict them and they are planned for when it
  // is time.
  const unplaced = new Map(
    snapshot.pods.flatMap(({ uid, nodeName, deleting }) =>
      nodeName === null || deleting || placed.has(uid) ? [] : [[uid, nodeName] as const],
    ),
  );
  const entries = nominations.flatMap(({ target, pods }) => {
    const node = target.kind === 'node' ? kept.get(target.name) : undefined;
    if (node === undefined) return [];
    const promised = new Set(input.inFlight.get(node.claim.metadata.name)?.pods);
    // Their places are theirs all the same.
    if ([...promised].some((uid) => (unplaced.get(uid) ?? target.name) !== target.name)) return [];
    const own = pods.filter(
      ({ uid }) =>
        waiting.has(uid) && !promised.has(uid) && ports.told.isNews(`spare/${uid}`, ports.now(), LET_IN_EVERY_MS),
    );
    return own.length === 0 ? [] : [{ ...node, name: target.name, pods: own }];
  });
  // Who could not be let in now waits for a later look, and keeps nobody else waiting.
  await eachAlone(entries, NODES_AT_ONCE, ({ claim, name, value, pods }) => enter(ports, claim, name, { value, pods }));
}
