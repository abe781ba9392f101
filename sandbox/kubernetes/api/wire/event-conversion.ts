import type { Json, JsonObject } from '../json.ts';

/** Fields that events.k8s.io names otherwise than the core group: [core, events.k8s.io]. */
const renamed: ReadonlyArray<readonly [string, string]> = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

function rename(object: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]): [string, Json] => [names.get(key) ?? key, value]),
  );
}

const toEventsNames = new Map(renamed);
const fromEventsNames = new Map(renamed.map(([core, events]) => [events, core]));

/** A stored event as events.k8s.io/v1 shows it. */
export function toEventsGroup(event: JsonObject): JsonObject {
  return rename(event, toEventsNames);
}

/** An events.k8s.io/v1 event as it is stored, in core/v1's form. */
export function fromEventsGroup(event: JsonObject): JsonObject {
  return { ...rename(event, fromEventsNames), apiVersion: 'v1' };
}
