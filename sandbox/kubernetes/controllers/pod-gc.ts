import { isApiError } from '../client/connection.ts';
import { isFinished, podPath, type Pod } from '../client/objects.ts';
import { toTime } from '../timestamp.ts';
import type { ControllerContext } from './controller-context.ts';
import { inParallel } from './pod-control.ts';

/** The real controller's figures: it looks every 20 s and believes after 40 s that a node is gone. */
const PERIOD_MS = 20_000;
const QUARANTINE_MS = 40_000;

/** Removes pods whose node is gone: no kubelet is left to end them. */
export function runPodGc(context: ControllerContext): void {
  const missingSince = new Map<string, number>();
  context.every(PERIOD_MS, async () => {
    const now = context.clock.now();
    const orphans = [...context.pods.objects.values()].filter(
      ({ spec }) => spec.nodeName !== undefined && !context.nodes.objects.has(spec.nodeName),
    );
    const names = new Set(orphans.map(({ spec }) => spec.nodeName ?? ''));
    for (const name of missingSince.keys()) if (!names.has(name)) missingSince.delete(name);
    for (const name of names) if (!missingSince.has(name)) missingSince.set(name, now);
    const due = orphans.filter(({ spec }) => now - (missingSince.get(spec.nodeName ?? '') ?? now) >= QUARANTINE_MS);
    await inParallel(due, (pod) => removePod(context, pod));
  });
}

async function removePod({ connection, clock }: ControllerContext, pod: Pod): Promise<void> {
  const { uid } = pod.metadata;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
    lastTransitionTime: toTime(clock.now()),
  };
  const status = isFinished(pod) ? { conditions: [condition] } : { phase: 'Failed', conditions: [condition] };
  try {
    await connection.patch(`${podPath(pod)}/status`, 'strategic', { metadata: { uid }, status });
    await connection.remove(podPath(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
