import type { Snapshot } from '../../../contract/snapshot/parse.ts';
import { changedMs, says } from '../../../core/disruption/candidates/claim-conditions.ts';
import { asksPods } from '../../../core/disruption/candidates/judge-nodes.ts';
import { podBudgetCheck } from '../../../core/disruption/candidates/pod-budgets.ts';
import { begunIn, type Begun, type Candidate } from '../../../core/disruption/second-look/begun.ts';
import { mustAllGo, reasonOf } from '../../../core/disruption/second-look/judge-begun.ts';
import type { Mover } from '../../../ports/store.ts';
import { podsOfDrains } from './heirs.ts';
import type { Present } from './planned.ts';

type Seen = Present & Pick<Snapshot, 'podDisruptionBudgets'>;

/**
 * Without those that a budget of pods holds on a node whose drain began before `beganMs`, milliseconds since the epoch.
 * Nobody knows for how long, and the budget may wait for a pod that would come to the very node that is kept.
 */
export function withoutHeldByBudget(
  movers: ReadonlyArray<Mover>,
  snapshot: Seen,
  beganMs: number,
): ReadonlyArray<Mover> {
  const check = podBudgetCheck(snapshot);
  const isHeld = (pod: Seen['pods'][number]): boolean => check(pod)?.kind === 'pod-budget';
  const held = new Set(podsOfDrains(snapshot, beganMs).flatMap((pod) => (isHeld(pod) ? [pod.uid] : [])));
  return movers.filter(({ uid }) => !held.has(uid));
}

/**
 * Without those on nodes that are marked to be removed and stay for now: all replacements have been in use since
 * `readyMs`, milliseconds since the epoch, and a budget of pods holds one of the nodes, or of those that are removed
 * together or not at all. Nobody knows for how long. Who is on the way out already is left in.
 */
export function withoutBudgeted(movers: ReadonlyArray<Mover>, snapshot: Seen, readyMs: number): ReadonlyArray<Mover> {
  const starting = new Set(
    snapshot.nodeClaims.flatMap((claim) => {
      const isReady = says(claim, 'Initialized') && changedMs(claim, 'Initialized') <= readyMs;
      return isReady || claim.metadata.deletionTimestamp !== undefined ? [] : [claim.metadata.name];
    }),
  );
  const ready = begunIn(snapshot).filter(({ replacements }) => !replacements.some((name) => starting.has(name)));
  if (ready.length === 0) return movers;
  const check = podBudgetCheck(snapshot);
  const podsOn = Map.groupBy(
    snapshot.pods.filter(({ deleting }) => !deleting),
    ({ nodeName }) => nodeName,
  );
  const isHeld = ({ claim, node }: Candidate): boolean =>
    asksPods(claim, reasonOf(claim) ?? '') &&
    (podsOn.get(node.metadata.name) ?? []).some((pod) => check(pod)?.kind === 'pod-budget');
  const staying = ready.flatMap((set) => stayingIn(set, isHeld));
  const held = new Set(staying.flatMap(({ node }) => (podsOn.get(node.metadata.name) ?? []).map(({ uid }) => uid)));
  return movers.filter(({ uid }) => !held.has(uid));
}

/** What must go goes without those that may not, as the second look has it. */
function stayingIn(set: Begun, isHeld: (one: Candidate) => boolean): ReadonlyArray<Candidate> {
  if (mustAllGo(set)) return set.candidates.filter(isHeld);
  return set.candidates.some(isHeld) ? set.candidates : [];
}
