import { isApiError } from '../client/connection.ts';
import { isFinished, podPath, type Node, type Pod, type Taint } from '../client/objects.ts';
import { tolerates } from '../matching.ts';
import { toTime } from '../timestamp.ts';
import type { ControllerContext } from './controller-context.ts';

/** Deletes pods that do not tolerate a NoExecute taint of their node, at once or when their toleration ends. */
export function runTaintEviction(context: ControllerContext): void {
  /** When each pod is due, by pod key; absent: it may stay. */
  const due = new Map<string, number>();
  const loop = context.loop('taint-eviction', async (key) => {
    const pod = context.pods.objects.get(key);
    const node = context.nodes.objects.get(pod?.spec.nodeName ?? '');
    if (pod === undefined || node === undefined) {
      due.delete(key);
      return;
    }
    const staysMs = stayMs(pod, noExecuteTaints(node));
    if (staysMs === null || pod.metadata.deletionTimestamp !== undefined || isFinished(pod)) {
      due.delete(key);
      return;
    }
    const at = due.get(key) ?? context.clock.now() + staysMs;
    due.set(key, Math.min(at, context.clock.now() + staysMs));
    const waitMs = at - context.clock.now();
    if (waitMs > 0) return loop.enqueueAfter(key, waitMs);
    await evict(context, pod);
  });
  const ofNode = (node: Node): void => {
    for (const pod of context.podsOn(node.metadata.name))
      loop.enqueue(`${pod.metadata.namespace ?? ''}/${pod.metadata.name}`);
  };
  context.nodes.listen({
    onChange: (node, previous) => {
      const before = previous === null ? [] : noExecuteTaints(previous);
      if (JSON.stringify(before) !== JSON.stringify(noExecuteTaints(node))) ofNode(node);
    },
    onDelete: () => undefined,
  });
  context.pods.listen({
    onChange: (pod, previous) => {
      if (pod.spec.nodeName === undefined || previous?.spec.nodeName === pod.spec.nodeName) return;
      loop.enqueue(`${pod.metadata.namespace ?? ''}/${pod.metadata.name}`);
    },
    onDelete: (pod) => due.delete(`${pod.metadata.namespace ?? ''}/${pod.metadata.name}`),
  });
}

function noExecuteTaints({ spec }: Node): ReadonlyArray<Taint> {
  return (spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

/** How long the pod may stay: null is for ever, 0 is not at all. */
function stayMs({ spec }: Pod, taints: ReadonlyArray<Taint>): number | null {
  let least: number | null = null;
  for (const taint of taints) {
    const matching = (spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return 0;
    for (const { tolerationSeconds } of matching) {
      if (tolerationSeconds === undefined) continue;
      const ms = Math.max(0, tolerationSeconds) * 1_000;
      least = least === null ? ms : Math.min(least, ms);
    }
  }
  return least;
}

async function evict({ connection, clock }: ControllerContext, pod: Pod): Promise<void> {
  const { uid } = pod.metadata;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
    lastTransitionTime: toTime(clock.now()),
  };
  try {
    await connection.patch(`${podPath(pod)}/status`, 'strategic', {
      metadata: { uid },
      status: { conditions: [condition] },
    });
    await connection.remove(podPath(pod), { preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
