import { isApiError } from '../client/connection.ts';
import {
  hasCondition,
  isFinished,
  podPath,
  type KubernetesObject,
  type ObjectMeta,
  type Pod,
  type PodSpec,
} from '../client/objects.ts';
import { rejectionOf, type ControllerContext } from './controller-context.ts';

/** Pods created or deleted at once for one owner. */
const PARALLEL = 8;
/** A creation that the watch has not shown for so long is taken for lost. */
const UNSEEN_MS = 30_000;

/** A workload's pod template. */
export interface PodTemplate {
  readonly metadata?: Partial<Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers'>>;
  readonly spec: PodSpec;
}

/**
 * Makes and removes the pods of one controller's objects, and knows which of its own changes the watch has yet to show.
 */
export interface PodControl {
  create(owner: KubernetesObject, pods: ReadonlyArray<PodTemplate>): Promise<void>;
  remove(owner: KubernetesObject, pods: ReadonlyArray<Pod>): Promise<void>;
  /** True while the watch lags behind what was done for the owner: counts of its pods would be wrong. */
  isBehind(owner: KubernetesObject): boolean;
}

/** Opens pod control for owners of one kind; `component` names the controller in Events. */
export function openPodControl(context: ControllerContext, apiVersion: string, kind: string): PodControl {
  /** Of each owner: uids of pods made or deleted whose event has not come, with when. */
  const unseen = new Map<string, Map<string, { readonly at: number; readonly kind: 'created' | 'deleted' }>>();
  const expect = (owner: KubernetesObject, uid: string, what: 'created' | 'deleted'): void => {
    const own = unseen.get(owner.metadata.uid) ?? new Map();
    own.set(uid, { at: context.clock.now(), kind: what });
    unseen.set(owner.metadata.uid, own);
  };
  const tell = (owner: KubernetesObject, type: 'Normal' | 'Warning', reason: string, message: string): void => {
    context.events.record({ object: owner, kind, apiVersion, type, reason, message });
  };
  return {
    create: (owner, templates) =>
      inParallel(templates, async (template) => {
        const namespace = owner.metadata.namespace ?? 'default';
        const body = renderPod(owner, { apiVersion, kind }, template);
        try {
          const pod = await context.connection.create<Pod>(`/api/v1/namespaces/${namespace}/pods`, body);
          if (!context.podsOf(owner.metadata.uid).some(({ metadata }) => metadata.uid === pod.metadata.uid)) {
            expect(owner, pod.metadata.uid, 'created');
          }
          tell(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
        } catch (error) {
          tell(owner, 'Warning', 'FailedCreate', `Error creating: ${rejectionOf(error)}`);
          throw error;
        }
      }),
    remove: (owner, pods) =>
      inParallel(pods, async (pod) => {
        try {
          await context.connection.remove(podPath(pod), { preconditions: { uid: pod.metadata.uid } });
          expect(owner, pod.metadata.uid, 'deleted');
          tell(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
        } catch (error) {
          if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
        }
      }),
    isBehind: (owner) => {
      const own = unseen.get(owner.metadata.uid);
      if (own === undefined) return false;
      const seen = new Map(context.podsOf(owner.metadata.uid).map((pod) => [pod.metadata.uid, pod]));
      for (const [uid, { at, kind: what }] of own) {
        const pod = seen.get(uid);
        const shown =
          what === 'created' ? pod !== undefined : pod?.metadata.deletionTimestamp !== undefined || pod === undefined;
        if (shown || context.clock.now() - at > UNSEEN_MS) own.delete(uid);
      }
      if (own.size === 0) unseen.delete(owner.metadata.uid);
      return own.size > 0;
    },
  };
}

function renderPod(
  owner: KubernetesObject,
  type: { readonly apiVersion: string; readonly kind: string },
  { metadata, spec }: PodTemplate,
): object {
  const { name, uid, namespace } = owner.metadata;
  const ownerReferences = [{ ...type, name, uid, controller: true, blockOwnerDeletion: true }];
  const naming = metadata !== undefined && 'name' in metadata ? {} : { generateName: `${name.slice(0, 57)}-` };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, ...naming, namespace, ownerReferences }, spec };
}

/** Runs a few at a time; throws the first failure after the others have ended. */
export async function inParallel<T>(items: ReadonlyArray<T>, task: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const failures: Array<unknown> = [];
  const work = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await task(item);
      } catch (error) {
        failures.push(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, work));
  if (failures.length > 0) throw failures[0];
}

/** A pod that works or will: not ended and not being deleted. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** A pod whose Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return hasCondition(pod.status?.conditions, 'Ready');
}

/** Milliseconds until a ready pod counts as available; 0 when it does, null when it is not ready. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number | null {
  const ready = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');
  if (ready === undefined) return null;
  if (minReadySeconds === 0) return 0;
  return Math.max(0, Date.parse(ready.lastTransitionTime ?? '') + minReadySeconds * 1_000 - nowMs);
}
