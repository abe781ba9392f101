import type { Snapshot, SnapshotPod } from '../../../contract/snapshot/parse.ts';
import { podBudgetCheck } from '../../../core/disruption/candidates/pod-budgets.ts';
import { podName } from '../../../core/model/pod-name.ts';
import { podRequests } from '../../../core/rules/pod-requests.ts';
import { isDisrupted } from '../../../kubernetes/disrupted-taint.ts';
import type { Node } from '../../../kubernetes/manifest.ts';
import { addAmounts, parseAmounts, type Amounts } from '../../../kubernetes/text/quantity.ts';
import type { Decision } from '../../../ports/store.ts';
import { nodeNameOf } from '../../facts/node-name.ts';
import { isWaiting } from '../dedications.ts';
import type { PlannedPod } from '../planned-pods.ts';
import type { Heirs } from './heirs.ts';
import { kindOf, plannedIn, plannedOn, type Present } from './planned.ts';

type Seen = Present & Pick<Snapshot, 'podDisruptionBudgets'>;

/** The node of a claim, the decision that made it for pods that move, and who comes in their place. */
interface Kept {
  readonly claim: string;
  readonly node: Node;
  readonly decision: Decision | null;
  readonly heirs: Heirs;
  /** Who may have a place there that another leaves free. */
  readonly mates: ReadonlyArray<PlannedPod>;
}

/**
 * Pods that wait, of no decision's moves, and that are alike to others which a budget of pods holds on nodes that are
 * marked to go: as many as the kept node has room for beside all who may come to it now. The budget may hold those
 * because these do not run, and a spread may keep these from where they are planned until those have left: each would
 * wait for the other, and the node stand empty.
 */
export function arrivalsOf({ claim, node, decision, heirs, mates }: Kept, snapshot: Seen): ReadonlyArray<PlannedPod> {
  // Who is about to come is in no list yet, and needs its room.
  if (heirs.unborn > 0) return [];
  const next = [...heirs.waiting, ...mates].map(({ uid }) => uid);
  const known = new Set([...plannedIn(decision), ...next]);
  const waiting = snapshot.pods.filter((pod) => isWaiting(pod) && !known.has(pod.uid));
  if (waiting.length === 0) return [];
  const isHeld = heldIn(snapshot);
  const kinds = new Set(snapshot.pods.filter(isHeld).map(({ shape }) => kindOf(snapshot, shape)));
  const alike = waiting.filter(({ shape }) => kinds.has(kindOf(snapshot, shape)));
  if (alike.length === 0) return [];
  const own = new Set([...plannedOn(decision, claim), ...next]);
  const isOnIt = ({ nodeName }: SnapshotPod): boolean => nodeName === node.metadata.name;
  const comes = (pod: SnapshotPod): boolean => own.has(pod.uid) && !pod.deleting && !isHeld(pod);
  const used = snapshot.pods.filter((pod) => isOnIt(pod) || comes(pod));
  const requestsOf = ({ shape }: SnapshotPod): Amounts =>
    podRequests(snapshot.shapes[shape]?.spec ?? { containers: [] });
  const allocatable = parseAmounts(node.status?.allocatable, 'down');
  const total = new Map<string, number>();
  for (const pod of used) addAmounts(total, requestsOf(pod));
  return alike.flatMap((pod): ReadonlyArray<PlannedPod> => {
    const requests = requestsOf(pod);
    const fits = [...requests].every(
      ([name, amount]) => amount === 0 || (total.get(name) ?? 0) + amount <= (allocatable.get(name) ?? 0),
    );
    if (!fits) return [];
    addAmounts(total, requests);
    return [{ name: podName(snapshot, pod), uid: pod.uid }];
  });
}

/** Is the pod on a node that is marked to go and does not drain yet, and does a budget let it not be evicted now? */
function heldIn(snapshot: Seen): (pod: SnapshotPod) => boolean {
  const draining = new Set(
    snapshot.nodeClaims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(nodeNameOf),
  );
  const marked = new Set(
    snapshot.nodes.flatMap((node) => {
      const { name, deletionTimestamp } = node.metadata;
      return isDisrupted(node) && deletionTimestamp === undefined && !draining.has(name) ? [name] : [];
    }),
  );
  const check = podBudgetCheck(snapshot);
  return (pod) => marked.has(pod.nodeName ?? '') && check(pod)?.kind === 'pod-budget';
}
