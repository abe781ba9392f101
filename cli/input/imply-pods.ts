import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import { digest } from '../../shared/contract/digest.ts';
import { fileProblem, type InputProblem } from '../wrong-input.ts';
import { titleOf, type CheckedObject } from './check/check-objects.ts';
import { listAt, mapAt, numberAt, textAt } from './json-fields.ts';
import type { JsonObject } from './objects.ts';
import { scalingBy } from './scaled.ts';

/** Pods (and the volume claims that come with them) that workloads would have and that were not given. */
export interface ImpliedPods {
  readonly objects: ReadonlyArray<CheckedObject>;
  readonly problems: ReadonlyArray<InputProblem>;
  readonly notes: ReadonlyArray<string>;
}

/** Beyond this many implied pods a number was mistyped: the largest cluster that plans are made for has 150,000. */
const MOST_PODS = 200_000;

/**
 * The pods that workloads would create, named `<workload>-<ordinal>`, in their namespace, with their labels and owner.
 */
export function implyPods(objects: ReadonlyArray<CheckedObject>): ImpliedPods {
  const given = indexGiven(objects);
  const scaling = scalingBy(objects);
  const implied: Array<CheckedObject> = [];
  const problems: Array<InputProblem> = [];
  const notes: Array<string> = [];
  let count = 0;
  for (const workload of objects) {
    if (workload.use.use !== 'workload' || hasGivenOwner(workload, given)) continue;
    if (workload.kind === 'CronJob' && workload.isLive) continue;
    const missing = scaling.scaled(workload, desiredPods(workload)) - (given.podsOf.get(titleOf(workload)) ?? 0);
    count += Math.max(0, missing);
    if (count > MOST_PODS) {
      const message = `implies more than ${MOST_PODS} pods together with those before it`;
      problems.push({ ...fileProblem(workload.origin, message, 'lower its replicas'), object: titleOf(workload) });
      break;
    }
    if (workload.kind === 'CronJob' && missing > 0) notes.push(`${titleOf(workload)}: planned as if one run had begun`);
    implied.push(...missingPods(workload, missing, given.names));
  }
  return { objects: implied, problems, notes: [...notes, ...scaling.notes()] };
}

interface ObjectIndex {
  /** Titles of all objects. */
  readonly names: ReadonlySet<string>;
  /** By the title of a workload: pods that it owns, through its replica sets or jobs too. */
  readonly podsOf: ReadonlyMap<string, number>;
}

function indexGiven(objects: ReadonlyArray<CheckedObject>): ObjectIndex {
  const byTitle = new Map(objects.map((object) => [titleOf(object), object]));
  const podsOf = new Map<string, number>();
  for (const object of objects) {
    if (object.kind !== 'Pod' || isGone(object)) continue;
    for (const owner of ownersOf(object, byTitle)) podsOf.set(owner, (podsOf.get(owner) ?? 0) + 1);
  }
  return { names: new Set(byTitle.keys()), podsOf };
}

/** A pod that ended, or is ending, is replaced by its controller. */
function isGone({ value }: CheckedObject): boolean {
  const phase = textAt(value, 'status', 'phase');
  return phase === 'Succeeded' || phase === 'Failed' || textAt(value, 'metadata', 'deletionTimestamp') !== '';
}

/** Pods belong to jobs or replica sets, these to cron jobs or deployments; nothing goes deeper. */
const DEEPEST_OWNER = 3;

function ownersOf(object: CheckedObject, byTitle: ReadonlyMap<string, CheckedObject>): ReadonlyArray<string> {
  const owners: Array<string> = [];
  let at: CheckedObject | undefined = object;
  for (let level = 0; level < DEEPEST_OWNER && at !== undefined; level++) {
    const title = ownerOf(at);
    if (title === null) break;
    owners.push(title);
    at = byTitle.get(title);
  }
  return owners;
}

function ownerOf({ value, namespace }: CheckedObject): string | null {
  const owners = listAt(value, 'metadata', 'ownerReferences').filter(isRecord);
  const owner = owners.find(({ controller }) => controller === true) ?? owners[0];
  return owner === undefined ? null : titleOf({ kind: textAt(owner, 'kind'), namespace, name: textAt(owner, 'name') });
}

function hasGivenOwner(workload: CheckedObject, { names }: ObjectIndex): boolean {
  const owner = ownerOf(workload);
  return owner !== null && names.has(owner);
}

function desiredPods({ kind, value }: CheckedObject): number {
  if (kind === 'Job') return desiredOfJob(mapAt(value, 'spec'), mapAt(value, 'status'));
  if (kind !== 'CronJob') return numberAt(value, 1, 'spec', 'replicas');
  return mapAt(value, 'spec')['suspend'] === true ? 0 : desiredOfJob(mapAt(value, 'spec', 'jobTemplate', 'spec'), {});
}

function desiredOfJob(spec: JsonObject, status: JsonObject): number {
  const ended = listAt(status, 'conditions').some(
    (one) => ['Complete', 'Failed', 'Suspended'].includes(textAt(one, 'type')) && textAt(one, 'status') === 'True',
  );
  if (ended || spec['suspend'] === true) return 0;
  const parallelism = numberAt(spec, 1, 'parallelism');
  const completions = numberAt(spec, Infinity, 'completions');
  return Math.max(0, Math.min(parallelism, completions - numberAt(status, 0, 'succeeded')));
}

function missingPods(workload: CheckedObject, count: number, taken: ReadonlySet<string>): Array<CheckedObject> {
  if (count <= 0) return [];
  const make = podMaker(workload);
  const made: Array<CheckedObject> = [];
  const first = numberAt(workload.value, 0, 'spec', 'ordinals', 'start');
  // At most as many ordinals are taken as there are objects.
  for (let ordinal = first, found = 0; found < count && ordinal < first + count + taken.size; ordinal++) {
    const pod = make(ordinal);
    if (taken.has(titleOf(pod))) continue;
    found++;
    made.push(pod, ...claimsOf(workload, ordinal, taken));
  }
  return made;
}

function podMaker(workload: CheckedObject): (ordinal: number) => CheckedObject {
  const { kind, name, namespace, value, origin } = workload;
  const template =
    kind === 'CronJob' ? mapAt(value, 'spec', 'jobTemplate', 'spec', 'template') : mapAt(value, 'spec', 'template');
  const metadata = mapAt(template, 'metadata');
  const owner = { ...ownerReference(workload), controller: true };
  const common = labelsOfController(workload, template);
  return (ordinal) => {
    const podName = `${name}-${ordinal}`;
    const labels = {
      ...mapAt(metadata, 'labels'),
      ...common,
      ...(kind === 'StatefulSet' ? ownLabels(podName, ordinal) : {}),
    };
    return {
      origin,
      kind: 'Pod',
      use: { use: 'cluster', resource: 'pods' },
      namespace,
      name: podName,
      isLive: false,
      value: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: podName,
          namespace,
          labels,
          annotations: mapAt(metadata, 'annotations'),
          ownerReferences: [owner],
        },
        spec: withClaims(workload, mapAt(template, 'spec'), ordinal),
      },
    };
  };
}

/** A deployment's pods belong to a replica set of it, a cron job's to a job. */
function ownerReference({ kind, name, value }: CheckedObject) {
  const uid = textAt(value, 'metadata', 'uid') || `${kind}/${name}`;
  if (kind === 'Deployment') return { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid };
  if (kind === 'CronJob') return { apiVersion: 'batch/v1', kind: 'Job', name, uid };
  return { apiVersion: textAt(value, 'apiVersion'), kind, name, uid };
}

/** Labels that controllers add, which selectors and matchLabelKeys may name. */
function labelsOfController({ kind, name }: CheckedObject, template: JsonObject): Readonly<Record<string, string>> {
  if (kind === 'Deployment') return { 'pod-template-hash': digest(JSON.stringify(template)).slice(0, 10) };
  if (kind === 'Job' || kind === 'CronJob') return { 'batch.kubernetes.io/job-name': name, 'job-name': name };
  return {};
}

function ownLabels(podName: string, ordinal: number): Readonly<Record<string, string>> {
  return { 'statefulset.kubernetes.io/pod-name': podName, 'apps.kubernetes.io/pod-index': String(ordinal) };
}

/** A stateful set's pods have a volume for each of its claim templates, in place of one of the same name. */
function withClaims({ kind, name, value }: CheckedObject, spec: JsonObject, ordinal: number): JsonObject {
  const templates = kind === 'StatefulSet' ? listAt(value, 'spec', 'volumeClaimTemplates') : [];
  if (templates.length === 0) return spec;
  const own = templates.map((template) => textAt(template, 'metadata', 'name'));
  const volumes = listAt(spec, 'volumes').filter((volume) => !own.includes(textAt(volume, 'name')));
  const claimed = own.map((volume) => ({
    name: volume,
    persistentVolumeClaim: { claimName: `${volume}-${name}-${ordinal}` },
  }));
  return { ...spec, volumes: [...volumes, ...claimed] };
}

function claimsOf(workload: CheckedObject, ordinal: number, taken: ReadonlySet<string>): ReadonlyArray<CheckedObject> {
  const { kind, name, namespace, value, origin } = workload;
  if (kind !== 'StatefulSet') return [];
  return listAt(value, 'spec', 'volumeClaimTemplates')
    .map((template): CheckedObject => {
      const claimName = `${textAt(template, 'metadata', 'name')}-${name}-${ordinal}`;
      return {
        origin,
        kind: 'PersistentVolumeClaim',
        use: { use: 'cluster', resource: 'persistentvolumeclaims' },
        namespace,
        name: claimName,
        isLive: false,
        value: { metadata: { name: claimName, namespace }, spec: mapAt(template, 'spec') },
      };
    })
    .filter((claim) => !taken.has(titleOf(claim)));
}
