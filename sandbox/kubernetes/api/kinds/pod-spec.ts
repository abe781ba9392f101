import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { quantityNanos } from '../schema/quantity.ts';
import { type Cause, duplicate, invalidValue, notSupported, required } from '../status-error.ts';
import { nameCauses } from './metadata.ts';

/** Sets `object[key]` where it is missing. */
export function fillIn(object: JsonObject, key: string, value: Json): void {
  if (object[key] === undefined) object[key] = value;
}

/** Replaces the list at `key` by a copy whose objects are copies too, for changing; missing lists stay missing. */
function ownList(object: JsonObject, key: string): ReadonlyArray<JsonObject> {
  const list = object[key];
  if (!Array.isArray(list)) return [];
  const copies = list.map((item) => (isObject(item) ? { ...item } : item));
  object[key] = copies;
  return copies.filter(isObject);
}

/** Replaces the object at `key` by a copy, made where missing, for changing. */
export function ownObject(object: JsonObject, key: string): JsonObject {
  const copy = { ...objectAt(object, key) };
  object[key] = copy;
  return copy;
}

/** The pull policy of an image: latest is always pulled. */
function pullPolicyOf(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  const isLatest = name.endsWith(':latest') || (!name.includes(':') && !name.includes('@'));
  return isLatest ? 'Always' : 'IfNotPresent';
}

function defaultProbe(container: JsonObject, key: string): void {
  if (!isObject(container[key])) return;
  const probe = ownObject(container, key);
  fillIn(probe, 'timeoutSeconds', 1);
  fillIn(probe, 'periodSeconds', 10);
  fillIn(probe, 'successThreshold', 1);
  fillIn(probe, 'failureThreshold', 3);
  if (isObject(probe['httpGet'])) {
    const get = ownObject(probe, 'httpGet');
    fillIn(get, 'path', '/');
    fillIn(get, 'scheme', 'HTTP');
  }
}

function defaultContainer(container: JsonObject, limitsAreRequests: boolean): void {
  fillIn(container, 'imagePullPolicy', pullPolicyOf(textAt(container, 'image')));
  fillIn(container, 'terminationMessagePath', '/dev/termination-log');
  fillIn(container, 'terminationMessagePolicy', 'File');
  const resources = ownObject(container, 'resources');
  if (limitsAreRequests && isObject(resources['limits'])) {
    resources['requests'] = { ...resources['limits'], ...objectAt(resources, 'requests') };
  }
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(container, probe);
  for (const port of ownList(container, 'ports')) fillIn(port, 'protocol', 'TCP');
  for (const variable of ownList(container, 'env')) {
    if (!isObject(variable['valueFrom'])) continue;
    const from = ownObject(variable, 'valueFrom');
    if (isObject(from['fieldRef'])) fillIn(ownObject(from, 'fieldRef'), 'apiVersion', 'v1');
  }
}

/** Defaults of volume sources: [source, field, value]. */
const volumeDefaults: ReadonlyArray<readonly [string, string, Json]> = [
  ['configMap', 'defaultMode', 420],
  ['secret', 'defaultMode', 420],
  ['projected', 'defaultMode', 420],
  ['downwardAPI', 'defaultMode', 420],
  ['hostPath', 'type', ''],
];

function defaultVolume(volume: JsonObject): void {
  for (const [source, field, value] of volumeDefaults) {
    if (isObject(volume[source])) fillIn(ownObject(volume, source), field, value);
  }
  if (isObject(volume['ephemeral'])) {
    const template = ownObject(ownObject(volume, 'ephemeral'), 'volumeClaimTemplate');
    fillIn(ownObject(template, 'spec'), 'volumeMode', 'Filesystem');
  }
  const sources = Object.keys(volume).filter((key) => key !== 'name');
  if (sources.length === 0) volume['emptyDir'] = {};
}

/** Where a pod has the network of its host, its ports are the host's. */
function defaultHostPorts(container: JsonObject): void {
  for (const port of ownList(container, 'ports')) {
    if ((port['hostPort'] ?? 0) === 0) port['hostPort'] = port['containerPort'] ?? 0;
  }
}

/**
 * Fills in a pod spec's defaults; `isPod` adds what only pods get (requests from limits, host ports), not templates.
 */
export function defaultPodSpec(spec: JsonObject, isPod: boolean): void {
  fillIn(spec, 'restartPolicy', 'Always');
  fillIn(spec, 'terminationGracePeriodSeconds', 30);
  fillIn(spec, 'dnsPolicy', 'ClusterFirst');
  fillIn(spec, 'securityContext', {});
  fillIn(spec, 'schedulerName', 'default-scheduler');
  if (isPod) fillIn(spec, 'enableServiceLinks', true);
  for (const key of ['containers', 'initContainers']) {
    for (const container of ownList(spec, key)) {
      defaultContainer(container, isPod);
      if (isPod && spec['hostNetwork'] === true) defaultHostPorts(container);
    }
  }
  for (const volume of ownList(spec, 'volumes')) defaultVolume(volume);
  for (const key of ['serviceAccountName', 'serviceAccount']) if (spec[key] === '') delete spec[key];
  const account = textAt(spec, 'serviceAccountName') || textAt(spec, 'serviceAccount');
  if (account !== '') {
    spec['serviceAccountName'] = account;
    spec['serviceAccount'] = account;
  }
  for (const constraint of ownList(spec, 'topologySpreadConstraints')) {
    fillIn(constraint, 'whenUnsatisfiable', 'DoNotSchedule');
  }
}

/** The defaults of a pod template below `spec.template`. */
export function defaultTemplate(spec: JsonObject): void {
  if (!isObject(spec['template'])) return;
  const template = ownObject(spec, 'template');
  fillIn(template, 'metadata', {});
  defaultPodSpec(ownObject(template, 'spec'), false);
}

function resourceCauses(container: JsonObject, field: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const limits = objectAt(container, 'resources', 'limits');
  for (const [name, value] of Object.entries(objectAt(container, 'resources', 'requests'))) {
    const request = quantityNanos(String(value), field);
    if (request < 0n)
      causes.push(invalidValue(`${field}.requests[${name}]`, value, 'must be greater than or equal to 0'));
    const limit = limits[name];
    if (limit !== undefined && request > quantityNanos(String(limit), field)) {
      causes.push(
        invalidValue(`${field}.requests`, value, `must be less than or equal to ${name} limit of ${String(limit)}`),
      );
    } else if (limit === undefined && name.includes('/')) {
      causes.push(required(`${field}.limits[${name}]`, 'Limit must be set for non overcommitable resources'));
    }
  }
  return causes;
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never'];

function containerCauses(container: Json, field: string, names: Set<string>): ReadonlyArray<Cause> {
  if (!isObject(container)) return [];
  const causes: Array<Cause> = [];
  const name = textAt(container, 'name');
  if (name === '') causes.push(required(`${field}.name`));
  else if (names.has(name)) causes.push(duplicate(`${field}.name`, name));
  else causes.push(...nameCauses(name, 'label', `${field}.name`));
  names.add(name);
  if (textAt(container, 'image') === '') causes.push(required(`${field}.image`));
  const policy = textAt(container, 'imagePullPolicy');
  if (policy !== '' && !pullPolicies.includes(policy)) {
    causes.push(notSupported(`${field}.imagePullPolicy`, policy, pullPolicies));
  }
  causes.push(...resourceCauses(container, `${field}.resources`));
  for (const [index, port] of listAt(container, 'ports').entries()) {
    const number = objectAt([port], 0)['containerPort'];
    const isPort = typeof number === 'number' && number >= 1 && number <= 65_535;
    if (!isPort) {
      const at = `${field}.ports[${index}].containerPort`;
      causes.push(
        number === undefined ? required(at) : invalidValue(at, number, 'must be between 1 and 65535, inclusive'),
      );
    }
  }
  return causes;
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function tolerationCauses(toleration: Json, field: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const key = textAt(toleration, 'key');
  const operator = textAt(toleration, 'operator');
  const effect = textAt(toleration, 'effect');
  if (key === '' && operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    causes.push(invalidValue(`${field}.operator`, operator, detail));
  }
  if (operator !== '' && operator !== 'Equal' && operator !== 'Exists') {
    causes.push(notSupported(`${field}.operator`, operator, ['Equal', 'Exists']));
  }
  if (operator === 'Exists' && textAt(toleration, 'value') !== '') {
    causes.push(
      invalidValue(`${field}.operator`, textAt(toleration, 'value'), "value must be empty when `operator` is 'Exists'"),
    );
  }
  if (effect !== '' && !taintEffects.includes(effect)) {
    causes.push(notSupported(`${field}.effect`, effect, taintEffects));
  }
  return causes;
}

function spreadCauses(constraint: Json, field: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const skew = objectAt([constraint], 0)['maxSkew'];
  if (typeof skew !== 'number' || skew <= 0) {
    causes.push(invalidValue(`${field}.maxSkew`, skew ?? 0, 'must be greater than zero'));
  }
  if (textAt(constraint, 'topologyKey') === '') causes.push(required(`${field}.topologyKey`, 'can not be empty'));
  const action = textAt(constraint, 'whenUnsatisfiable');
  if (!['DoNotSchedule', 'ScheduleAnyway'].includes(action)) {
    causes.push(notSupported(`${field}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']));
  }
  const domains = objectAt([constraint], 0)['minDomains'];
  if (domains !== undefined && action !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
    causes.push(invalidValue(`${field}.minDomains`, domains, detail));
  }
  return causes;
}

/** What is wrong with a pod spec at `field`. */
export function podSpecCauses(spec: JsonObject, field: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const names = new Set<string>();
  const containers = listAt(spec, 'containers');
  if (containers.length === 0) causes.push(required(`${field}.containers`));
  for (const key of ['containers', 'initContainers']) {
    for (const [index, container] of listAt(spec, key).entries()) {
      causes.push(...containerCauses(container, `${field}.${key}[${index}]`, names));
    }
  }
  const restart = textAt(spec, 'restartPolicy');
  const policies = ['Always', 'OnFailure', 'Never'];
  if (!policies.includes(restart)) causes.push(notSupported(`${field}.restartPolicy`, restart, policies));
  const tolerations = listAt(spec, 'tolerations');
  causes.push(...tolerations.flatMap((item, index) => tolerationCauses(item, `${field}.tolerations[${index}]`)));
  const spreads = listAt(spec, 'topologySpreadConstraints');
  causes.push(...spreads.flatMap((item, index) => spreadCauses(item, `${field}.topologySpreadConstraints[${index}]`)));
  return causes;
}
