import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { connect } from '../client/connection.ts';
import type { KubernetesObject } from '../client/objects.ts';
import { openEventRecorder } from '../client/record-event.ts';
import type { Watched } from '../client/watch-objects.ts';
import { openWriteQueue } from '../client/write-queue.ts';
import { newClusterState } from './cluster-state.ts';
import { openWatches } from './follow-cluster.ts';
import { openNominations } from './nominations.ts';
import { schedulePod } from './schedule-pod.ts';
import { SCHEDULER_NAME, type Parts, type SchedulerOptions } from './scheduler-parts.ts';
import { openSchedulingQueue } from './scheduling-queue.ts';

/** Bindings in flight at once, and reports: those are many when nodes are missing, and nobody waits for them. */
const BINDINGS = 12;
const REPORTS = 3;
/** How long the scheduler works before it lets the process do something else. */
const SLICE_MS = 10;
/** How often pods that nothing has woken are looked at. */
const FLUSH_MS = 30_000;

/** A running scheduler. */
export interface Scheduler {
  close(): void;
}

/**
 * Starts a scheduler that places pods as kube-scheduler 1.36 does with its default profile: the same filters in the
 * same order, the same scores but image locality, nominations, preemption, conditions, messages and Events. Verified
 * against the real one by test/contract/kubernetes-runtime. Resolves when it has seen the cluster.
 */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const connection = connect(options.kubeconfig);
  const onDropped = (key: string, error: unknown): void =>
    options.log?.(`scheduler: ${key} given up: ${String(error)}`);
  const parts: Parts = {
    options,
    connection,
    state: newClusterState(),
    queue: openSchedulingQueue(options.clock),
    nominations: openNominations(),
    bindings: openWriteQueue({ concurrency: BINDINGS, onDropped }),
    // A pod that is gone by the time of its report needs none.
    reports: openWriteQueue({ concurrency: REPORTS, onDropped: () => undefined }),
    reporting: new Map(),
    events: openEventRecorder(connection, options.clock, SCHEDULER_NAME),
    binding: new Map(),
    watches: openWatches(connection, () => parts),
    failures: new Map(),
    startAt: 0,
    closed: false,
    rouse: () => undefined,
  };
  await Promise.all(Object.values(parts.watches).map((watch: Watched<KubernetesObject>) => watch.synced));
  void run(parts);
  let stopFlush = (): void => undefined;
  const flush = (): void => {
    parts.queue.flush();
    parts.failures.clear();
    parts.rouse();
    stopFlush = options.clock.after(FLUSH_MS, flush);
  };
  flush();
  return {
    close: () => {
      parts.closed = true;
      parts.rouse();
      stopFlush();
      for (const watch of Object.values(parts.watches)) watch.close();
      parts.bindings.close();
      parts.reports.close();
      parts.events.close();
      connection.close();
    },
  };
}

async function run(parts: Parts): Promise<void> {
  let sliceEnd = Date.now() + SLICE_MS;
  while (!parts.closed) {
    const next = parts.queue.pop();
    if (next === null) await sleep(parts);
    else schedulePod(parts, next);
    if (Date.now() < sliceEnd) continue;
    await yieldToOthers();
    sliceEnd = Date.now() + SLICE_MS;
  }
}

/** Until something changes, or until the next pod that backs off may be tried. */
function sleep(parts: Parts): Promise<void> {
  const { clock } = parts.options;
  const nextAt = parts.queue.nextAt();
  return new Promise((resolve) => {
    const cancel = nextAt === null ? (): void => undefined : clock.after(Math.max(1, nextAt - clock.now()), resolve);
    parts.rouse = () => {
      cancel();
      resolve();
    };
  });
}
