import { titleOf, type CheckedObject } from './check/check-objects.ts';
import { mapAt, numberAt, textAt } from './json-fields.ts';

/** What autoscalers make of the replicas of workloads as soon as they see them. */
export interface Scaling {
  /** The pods of a workload, of so many as its manifest asks for. */
  readonly scaled: (workload: CheckedObject, replicas: number) => number;
  /** Whose number an autoscaler changed, one line each. */
  readonly notes: () => ReadonlyArray<string>;
}

interface Bounds {
  readonly title: string;
  readonly least: number;
  readonly most: number;
}

/**
 * Autoscalers hold a workload between their bounds, whatever its manifest says; what they do between these depends on
 * load, which is not known here. One that is scaled to 0 is left alone by them.
 */
export function scalingBy(objects: ReadonlyArray<CheckedObject>): Scaling {
  const bounds = new Map(objects.flatMap((one) => boundsOf(one)));
  const notes: Array<string> = [];
  return {
    scaled: (workload, replicas) => {
      const found = bounds.get(titleOf(workload));
      if (found === undefined || replicas === 0) return replicas;
      const number = Math.max(found.least, Math.min(found.most, replicas));
      if (number !== replicas) {
        const bound = number === found.least ? 'least' : 'most';
        notes.push(`${titleOf(workload)}: planned with ${number} pods, the ${bound} that ${found.title} allows`);
      }
      return number;
    },
    notes: () => notes,
  };
}

/** By the title of the workload that is scaled. Defaults: Kubernetes API 1.36, and KEDA's ScaledObject v1alpha1. */
function boundsOf(object: CheckedObject): ReadonlyArray<readonly [string, Bounds]> {
  const { kind, namespace, value } = object;
  const spec = mapAt(value, 'spec');
  const target = mapAt(spec, 'scaleTargetRef');
  const named = (otherwise: string): string =>
    titleOf({ kind: textAt(target, 'kind') || otherwise, namespace, name: textAt(target, 'name') });
  const title = titleOf(object);
  if (kind === 'HorizontalPodAutoscaler') {
    const [least, most] = [numberAt(spec, 1, 'minReplicas'), numberAt(spec, Infinity, 'maxReplicas')];
    return [[named(''), { title, least, most }]];
  }
  if (kind !== 'ScaledObject') return [];
  const [least, most] = [numberAt(spec, 0, 'minReplicaCount'), numberAt(spec, 100, 'maxReplicaCount')];
  return [[named('Deployment'), { title, least, most }]];
}
