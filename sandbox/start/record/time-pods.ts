import type { Pod } from '../../kubernetes/client/objects.ts';
import { isOwnPod, isRunning } from '../view/cluster-objects.ts';
import { percentilesOf, type Percentiles } from './percentiles.ts';

/** How long pods waited for their nodes; null where no pod got that far. Milliseconds. */
export interface PodTimes {
  readonly toVmPut: Percentiles | null;
  readonly toRunning: Percentiles | null;
}

/** Follows each pod from the moment it is unschedulable. */
export interface PodTimer {
  /** Tells what the watch says of a pod; the moment of telling counts, since the API's own times are whole seconds. */
  observe(pod: Pod): void;
  /** `putAt` answers when a VM of that name was first asked of Azure, milliseconds since the Unix epoch. */
  read(putAt: (vm: string) => number | undefined): PodTimes;
}

interface Times {
  readonly unschedulableAt: number;
  node: string | null;
  runningAt: number | null;
}

/** Starts with no pod known. A pod that is never unschedulable is not timed. */
export function createPodTimer(now: () => number): PodTimer {
  const times = new Map<string, Times>();
  return {
    observe: (pod) => {
      const { uid } = pod.metadata;
      const known = times.get(uid);
      if (known === undefined) {
        if (isOwnPod(pod) && isUnschedulable(pod))
          times.set(uid, { unschedulableAt: now(), node: null, runningAt: null });
        return;
      }
      const { nodeName } = pod.spec;
      if (known.node === null && nodeName !== undefined && nodeName !== '') known.node = nodeName;
      if (known.runningAt === null && isRunning(pod)) known.runningAt = now();
    },
    read: (putAt) => {
      const all = [...times.values()];
      const puts = all.flatMap(({ node, unschedulableAt }) => {
        const at = node === null ? undefined : putAt(node);
        // A machine that was asked for before the pod came was not asked for because of it.
        return at === undefined || at < unschedulableAt ? [] : [at - unschedulableAt];
      });
      const running = all.flatMap(({ runningAt, unschedulableAt }) =>
        runningAt === null ? [] : [runningAt - unschedulableAt],
      );
      return { toVmPut: percentilesOf(puts), toRunning: percentilesOf(running) };
    },
  };
}

function isUnschedulable(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(
      ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
    ) === true
  );
}
