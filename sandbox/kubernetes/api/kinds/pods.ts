import { at, equalJson, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { type ApiState, storeKey } from '../state.ts';
import { type Cause, forbidden, forbiddenField, notSupported } from '../status-error.ts';
import type { KindRules } from './kind-rules.ts';
import { defaultPodSpec, fillIn, ownObject, podSpecCauses } from './pod-spec.ts';
import { addTo, topologyLabels } from './topology-labels.ts';

const countedForQos = ['cpu', 'memory'];

/** Guaranteed, Burstable or BestEffort, by the cpu and memory of all containers. */
function qosClassOf(spec: JsonObject): string {
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')];
  let isBestEffort = true;
  let isGuaranteed = true;
  for (const container of containers) {
    const requests = objectAt(container, 'resources', 'requests');
    const limits = objectAt(container, 'resources', 'limits');
    for (const name of countedForQos) {
      const request = requests[name] ?? '0';
      const limit = limits[name] ?? '0';
      if (request !== '0' || limit !== '0') isBestEffort = false;
      if (limit === '0' || request !== limit) isGuaranteed = false;
    }
  }
  if (isBestEffort) return 'BestEffort';
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

/** Priorities that exist without an object in the store. Source: the scheduling API group's built-in classes. */
const systemPriorities: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

function globalDefaultClass(state: ApiState): JsonObject | undefined {
  const classes = state.store.list('priorityclasses.scheduling.k8s.io').items;
  return classes.find(({ object }) => object['globalDefault'] === true)?.object;
}

function classOf(state: ApiState, name: string): JsonObject | undefined {
  const found = state.store.get('priorityclasses.scheduling.k8s.io', storeKey('', name))?.object;
  const value = systemPriorities[name];
  return found ?? (value === undefined ? undefined : { value });
}

/** The Priority admission: the class's value becomes spec.priority. */
function admitPriority(pod: JsonObject, spec: JsonObject, state: ApiState): void {
  const name = textAt(spec, 'priorityClassName');
  const chosen = name === '' ? globalDefaultClass(state) : classOf(state, name);
  if (name !== '' && chosen === undefined) {
    const podName = textAt(pod, 'metadata', 'name');
    throw forbidden({ name: 'pods', group: '' }, podName, `no PriorityClass with name ${name} was found`);
  }
  const value = chosen === undefined ? 0 : (chosen['value'] ?? 0);
  const given = spec['priority'];
  if (given !== undefined && given !== value) {
    const why = `the integer value of priority (${String(given)}) must not be provided in pod spec; priority admission controller computed ${String(value)} from the given PriorityClass name`;
    throw forbidden({ name: 'pods', group: '' }, textAt(pod, 'metadata', 'name'), why);
  }
  spec['priority'] = value;
  if (name === '' && chosen !== undefined) spec['priorityClassName'] = textAt(chosen, 'metadata', 'name');
  fillIn(spec, 'preemptionPolicy', textAt(chosen, 'preemptionPolicy') || 'PreemptLowerPriority');
}

const defaultTolerations = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** The DefaultTolerationSeconds admission: five minutes for lost nodes, unless the pod says otherwise. */
function admitTolerations(spec: JsonObject): void {
  const tolerations = [...listAt(spec, 'tolerations')];
  const covers = (toleration: Json, key: string): boolean => {
    const effect = textAt(toleration, 'effect');
    const given = textAt(toleration, 'key');
    return (given === key || given === '') && (effect === '' || effect === 'NoExecute');
  };
  const missing = defaultTolerations.filter((key) => !tolerations.some((toleration) => covers(toleration, key)));
  for (const key of missing) {
    tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  }
  if (tolerations.length > 0) spec['tolerations'] = tolerations;
}

function prepareCreate(pod: JsonObject, state: ApiState): void {
  const spec = ownObject(pod, 'spec');
  admitPriority(pod, spec, state);
  admitTolerations(spec);
  addTo(ownObject(pod, 'metadata'), 'labels', topologyLabels(state, textAt(spec, 'nodeName')));
  defaultPodSpec(spec, true);
  const status: JsonObject = { phase: 'Pending', qosClass: qosClassOf(spec) };
  const gates = listAt(spec, 'schedulingGates');
  if (gates.length > 0) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    status['conditions'] = [
      {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: null,
        reason: 'SchedulingGated',
        message,
      },
    ];
  }
  pod['status'] = status;
}

const immutableMessage =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function withoutImages(containers: ReadonlyArray<Json>): Array<Json> {
  return containers.map((container) => (isObject(container) ? { ...container, image: '' } : container));
}

/** The spec with everything taken out that may change after creation. */
function fixedPart(spec: JsonObject, isGated: boolean): JsonObject {
  const { tolerations: _tolerations, activeDeadlineSeconds: _deadline, schedulingGates: _gates, ...rest } = spec;
  const fixed: JsonObject = {
    ...rest,
    containers: withoutImages(listAt(spec, 'containers')),
    initContainers: withoutImages(listAt(spec, 'initContainers')),
  };
  // Gated pods may still narrow where they run.
  if (isGated) for (const key of ['nodeSelector', 'affinity']) delete fixed[key];
  delete fixed['terminationGracePeriodSeconds'];
  return fixed;
}

function validateUpdate(next: JsonObject, current: JsonObject): ReadonlyArray<Cause> {
  const [after, before] = [objectAt(next, 'spec'), objectAt(current, 'spec')];
  if (equalJson(after, before)) return [];
  const isGated = listAt(before, 'schedulingGates').length > 0;
  const kept = listAt(after, 'tolerations');
  const lost = listAt(before, 'tolerations').some(
    (old) => !kept.some((toleration) => equalJson(withoutSeconds(toleration), withoutSeconds(old))),
  );
  if (lost)
    return [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
  if (equalJson(fixedPart(after, isGated), fixedPart(before, isGated))) return [];
  return [forbiddenField('spec', immutableMessage)];
}

function withoutSeconds(toleration: Json): Json {
  if (!isObject(toleration)) return toleration;
  const { tolerationSeconds: _seconds, ...rest } = toleration;
  return rest;
}

const phases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

function validate(pod: JsonObject): ReadonlyArray<Cause> {
  const causes = [...podSpecCauses(objectAt(pod, 'spec'), 'spec')];
  const phase = at(pod, 'status', 'phase');
  if (typeof phase === 'string' && phase !== '' && !phases.includes(phase)) {
    causes.push(notSupported('status.phase', phase, phases));
  }
  return causes;
}

/** Pods: admission of priority and tolerations, defaults, and a spec that hardly ever changes. */
export const podRules: KindRules = {
  hasGeneration: true,
  prepareCreate,
  keepsStatusOnCreate: true,
  applyDefaults(pod) {
    defaultPodSpec(ownObject(pod, 'spec'), false);
    fillIn(objectAt(pod, 'spec'), 'enableServiceLinks', true);
    const status = ownObject(pod, 'status');
    fillIn(status, 'phase', 'Pending');
    // The class is fixed at creation; a status write that leaves it out does not lose it.
    fillIn(status, 'qosClass', qosClassOf(objectAt(pod, 'spec')));
  },
  validate,
  validateUpdate,
};
