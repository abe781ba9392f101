import { mapAt } from './json-fields.ts';
import type { JsonObject } from './objects.ts';

/** Where a kind has the spec of its pods. */
const PATHS: Readonly<Record<string, ReadonlyArray<string>>> = {
  Pod: ['spec'],
  PodTemplate: ['template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  ...Object.fromEntries(
    ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job'].map((kind) => [
      kind,
      ['spec', 'template', 'spec'],
    ]),
  ),
};

/** The spec of an object's pods, and its path in messages; null for kinds that have none. */
export function podSpecOf(
  kind: string,
  value: JsonObject,
): { readonly spec: JsonObject; readonly path: string } | null {
  const path = PATHS[kind];
  return path === undefined ? null : { spec: mapAt(value, ...path), path: path.join('.') };
}
