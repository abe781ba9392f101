import type { PodReference } from '../../core/model/plan.ts';
import type { Regarding } from './events.ts';

/** Where the pod of a plan or a decision is: their `namespace/name`, taken apart. */
export function podKeyOf({ name }: Pick<PodReference, 'name'>): { readonly namespace: string; readonly name: string } {
  const [namespace = 'default', own = ''] = name.split('/');
  return { namespace, name: own };
}

/** The pod as an Event is about it. */
export function aboutPod(pod: PodReference): Regarding {
  return { apiVersion: 'v1', kind: 'Pod', ...podKeyOf(pod), uid: pod.uid };
}
