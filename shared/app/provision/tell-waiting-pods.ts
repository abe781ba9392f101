import type { PodReference } from '../../core/model/plan.ts';
import { EVENT_LIVES_MS, publish, type EventNote } from '../tell/events.ts';
import { inParallel } from '../ports/in-parallel.ts';
import { aboutPod } from '../tell/pod-key.ts';
import type { Ports } from '../ports/ports.ts';

/** Events of one plan, at most. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

/** An event about a pod. `key`: this process publishes it once per hour, or once per `againMs` where that is given. */
export interface PodNews extends Pick<EventNote, 'type' | 'reason' | 'message' | 'againMs'> {
  readonly pod: PodReference;
  readonly key: string;
}

/**
 * Publishes events about pods. Every look at pods that wait ends here: the events that are too many now follow with the
 * next look.
 */
export async function tellWaitingPods(
  ports: Pick<Ports, 'kubernetes' | 'now' | 'told'>,
  all: ReadonlyArray<PodNews>,
): Promise<void> {
  const news = all.filter(({ key }) => !ports.told.isKnown(key, ports.now()));
  await inParallel(news.slice(0, TOLD_MAX), TOLD_AT_ONCE, async ({ pod, key, ...note }) => {
    if (!ports.told.isNews(key, ports.now(), note.againMs ?? EVENT_LIVES_MS)) return;
    await publish(ports.kubernetes, { regarding: aboutPod(pod), ...note }, ports.now());
  });
}
