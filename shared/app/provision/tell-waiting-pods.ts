import type { PodReference } from '../../core/model/plan.ts';
import { EVENT_LIVES_MS, publish, type EventNote } from '../tell/events.ts';
import { inParallel } from '../ports/in-parallel.ts';
import { aboutPod } from '../tell/pod-key.ts';
import type { Ports } from '../ports/ports.ts';

/** Events of one plan, at most. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

/** What a pod is told. `key`: what is told once an hour, by this process. */
export interface PodNews extends Pick<EventNote, 'type' | 'reason' | 'message'> {
  readonly pod: PodReference;
  readonly key: string;
}

/** Tells pods by events, each once an hour. Each look at pods that wait comes here: whoever is too many now is told by the next. */
export async function tellWaitingPods(
  ports: Pick<Ports, 'kubernetes' | 'now' | 'told'>,
  all: ReadonlyArray<PodNews>,
): Promise<void> {
  const news = all.filter(({ key }) => !ports.told.isKnown(key, ports.now()));
  await inParallel(news.slice(0, TOLD_MAX), TOLD_AT_ONCE, async ({ pod, key, type, reason, message }) => {
    if (!ports.told.isNews(key, ports.now(), EVENT_LIVES_MS)) return;
    await publish(ports.kubernetes, { regarding: aboutPod(pod), type, reason, message }, ports.now());
  });
}
