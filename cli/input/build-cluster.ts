import { createSnapshotBuilder } from '../../shared/contract/snapshot/builder.ts';
import type { ReferredResource } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { parseSnapshot, type Snapshot } from '../../shared/contract/snapshot/parse.ts';
import { createAdmission, withHostPorts, type Admission } from './admit-pods.ts';
import { titleOf, type CheckedObject } from './check/check-objects.ts';
import { listAt, mapAt, textAt } from './json-fields.ts';
import type { JsonObject } from './objects.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import { storageClassesOffline } from './storage-classes.ts';

/** The cluster that was given, as the relay would publish it. */
export interface GivenCluster {
  readonly snapshot: Snapshot;
  readonly notes: ReadonlyArray<string>;
}

/**
 * Puts objects through the snapshot that production decides from, so that a plan from files is the plan of production.
 */
export function buildCluster(objects: ReadonlyArray<CheckedObject>, nowMs: number): GivenCluster {
  const admission = createAdmission(objects);
  const storage = storageClassesOffline(objects);
  const builder = createSnapshotBuilder('offline', { buffers: true });
  const notes: Array<string> = [];
  let gated = 0;
  for (const object of storage.objects) {
    const template = templateResources[object.kind];
    if (object.use.use === 'workload' && template !== undefined) builder.upsert(template, object.value);
    if (object.use.use !== 'cluster') continue;
    const value = completed(object, admission);
    if (isGated(object)) gated++;
    const change = builder.upsert(object.use.resource, value);
    // The judges let nothing through that the snapshot cannot read; if one does, the user must know.
    if (change.kind === 'malformed')
      notes.push(`${object.origin}: ${titleOf(object)} could not be read and is left aside`);
  }
  notes.push(...notesOnHomeless(objects));
  notes.push(...storage.notes);
  if (gated > 0) notes.push(`${renderCount(gated, 'pod')} with scheduling gates: nothing is planned for them`);
  const missing = admission.missing();
  if (missing.length > 0) notes.push(`not given, so nothing is known of them: ${missing.join(', ')}`);
  const header = { version: 'offline', takenAtMs: nowMs, source: 'sweep' } as const;
  return { snapshot: parseSnapshot(builder.encode(header)), notes };
}

/** Workloads that a CapacityBuffer may refer to, by kind: where a snapshot has their templates. */
const templateResources: Readonly<Record<string, ReferredResource>> = {
  Deployment: 'deployments',
  ReplicaSet: 'replicasettemplates',
  StatefulSet: 'statefulsettemplates',
};

/** Names of nodes that a note lists at most. */
const NODES_NAMED = 3;

/** Pods on nodes that nobody gave: the room that such a node has left is not known, so nothing is planned onto it. */
function notesOnHomeless(objects: ReadonlyArray<CheckedObject>): ReadonlyArray<string> {
  const given = new Set(objects.flatMap(({ kind, name }) => (kind === 'Node' ? [name] : [])));
  const homes = objects.map(({ kind, value }) => (kind === 'Pod' ? textAt(value, 'spec', 'nodeName') : ''));
  const unknown = homes.filter((home) => home !== '' && !given.has(home));
  if (unknown.length === 0) return [];
  const names = [...new Set(unknown)].toSorted();
  const more = names.length - NODES_NAMED;
  const listed = `${names.slice(0, NODES_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const pods = unknown.length === 1 ? '1 pod runs' : `${unknown.length} pods run`;
  return [`${pods} on nodes that are not given (${listed}): give the nodes too, or their free room is not used`];
}

function isGated({ kind, value }: Pick<CheckedObject, 'kind' | 'value'>): boolean {
  return (
    kind === 'Pod' && textAt(value, 'spec', 'nodeName') === '' && listAt(value, 'spec', 'schedulingGates').length > 0
  );
}

function completed(object: CheckedObject, admission: Admission): JsonObject {
  const { kind, namespace, isLive, value } = object;
  const metadata = mapAt(value, 'metadata');
  const uid = textAt(metadata, 'uid') || titleOf(object);
  const identified = { ...value, metadata: { ...metadata, uid } };
  if (kind === 'Node') return withAllocatable(identified);
  if (kind === 'DaemonSet') return withPodsOnHost(identified);
  if (kind !== 'Pod') return identified;
  const spec = mapAt(value, 'spec');
  return {
    ...identified,
    // What was read from a cluster has been through admission there.
    spec: isLive ? spec : admission.admit(namespace ?? '', spec),
    status: statusOf(object),
  };
}

/**
 * The template of daemons, with what the API server gives their pods: a plan counts them by it while there are none.
 */
function withPodsOnHost(value: JsonObject): JsonObject {
  const spec = mapAt(value, 'spec');
  const template = mapAt(spec, 'template');
  return { ...value, spec: { ...spec, template: { ...template, spec: withHostPorts(mapAt(template, 'spec')) } } };
}

/** The kubelet reports as allocatable what it has, where nothing is set apart. */
function withAllocatable(value: JsonObject): JsonObject {
  const status = mapAt(value, 'status');
  return { ...value, status: { allocatable: mapAt(status, 'capacity'), ...status } };
}

/**
 * A pod on a node runs. One without is taken as refused by the scheduler: what room there is, the plan looks at first.
 * One that runs all the same, as the relay's does in the sandbox, wants no room.
 */
function statusOf({ value }: CheckedObject): JsonObject {
  const status = mapAt(value, 'status');
  if (textAt(value, 'spec', 'nodeName') !== '') return { phase: 'Running', ...status };
  if (isGated({ kind: 'Pod', value }) || textAt(status, 'phase') === 'Running') return status;
  const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
  const others = listAt(status, 'conditions').filter((one) => textAt(one, 'type') !== 'PodScheduled');
  return { phase: 'Pending', ...status, conditions: [...others, refused] };
}
