import { annotation } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { PlannedClaim } from '../../core/model/plan.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { nodeNameOf } from './node-name.ts';
import { noticedAtMs } from './interrupted.ts';

/** When a pod was created is told in whole seconds, rounded down. */
const STEP_MS = 1_000;

/**
 * Successors come as soon as their predecessors are told, and those end within a notice. Their names are of no help
 * once they have.
 */
const SUCCEEDED_WITHIN_MS = 30_000;

/**
 * Says on a planned claim since when it is needed, where it takes pods of machines that Azure evicts, or pods that came
 * right after: the earliest of their notices. It is for measuring only, so that it does no harm where such a pod came
 * for another reason.
 */
export function withNotices(snapshot: NoticedIn, planned: ReadonlyArray<PlannedClaim>): ReadonlyArray<PlannedClaim> {
  const ofPod = noticesByPod(snapshot);
  if (ofPod.size === 0) return planned;
  return planned.map((claim) => {
    const earliestMs = Math.min(...claim.pods.map(({ uid }) => ofPod.get(uid) ?? Infinity));
    if (earliestMs === Infinity) return claim;
    return {
      ...claim,
      annotations: { ...claim.annotations, [annotation.noticed]: new Date(earliestMs).toISOString() },
    };
  });
}

type NoticedIn = Pick<Snapshot, 'nodeClaims' | 'pods'>;

/**
 * When the notice was acted on that drives a pod out, or most likely its predecessor, milliseconds since the epoch, by
 * uid.
 */
function noticesByPod({ nodeClaims, pods }: NoticedIn): ReadonlyMap<string, number> {
  const noticed = new Map(
    nodeClaims.flatMap((claim) => {
      const atMs = noticedAtMs(claim);
      return atMs === null ? [] : [[nodeNameOf(claim), atMs] as const];
    }),
  );
  const earliestFirst = [...noticed.values()].toSorted((a, b) => a - b);
  const noticeOf = ({ nodeName, createdAtMs }: Snapshot['pods'][number]): number | undefined =>
    nodeName === null
      ? earliestFirst.find((atMs) => atMs - STEP_MS <= createdAtMs && createdAtMs <= atMs + SUCCEEDED_WITHIN_MS)
      : noticed.get(nodeName);
  return new Map(
    pods.flatMap((pod) => {
      const atMs = noticeOf(pod);
      return atMs === undefined ? [] : [[pod.uid, atMs] as const];
    }),
  );
}

/** How long ago the first notice was acted on that a claim answers, in milliseconds; null of one that answers none. */
export function sinceNoticeMs({ metadata }: Pick<NodeClaim, 'metadata'>, nowMs: number): number | null {
  const atMs = Date.parse(metadata.annotations?.[annotation.noticed] ?? '');
  return Number.isNaN(atMs) ? null : nowMs - atMs;
}
