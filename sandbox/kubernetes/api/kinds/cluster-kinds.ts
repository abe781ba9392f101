import { at, equalJson, isObject, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { timestamp } from '../state.ts';
import { type Cause, forbiddenField, invalidValue, notSupported, required } from '../status-error.ts';
import type { KindRules } from './kind-rules.ts';
import { fillIn, ownObject } from './pod-spec.ts';

const notReadyTaint = 'node.kubernetes.io/not-ready';
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taintCauses(node: JsonObject): ReadonlyArray<Cause> {
  const seen = new Set<string>();
  return listAt(node, 'spec', 'taints').flatMap((taint, index): ReadonlyArray<Cause> => {
    const effect = textAt(taint, 'effect');
    const key = textAt(taint, 'key');
    const causes: Array<Cause> = [];
    if (key === '') causes.push(required(`metadata.taints[${index}].key`, 'name part must be non-empty'));
    if (!effects.includes(effect)) causes.push(notSupported(`metadata.taints[${index}].effect`, effect, effects));
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) {
      const message = `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`;
      causes.push({ reason: 'FieldValueDuplicate', field: `metadata.taints[${index}]`, message });
    }
    seen.add(identity);
    return causes;
  });
}

const emptyNodeInfo = [
  'architecture',
  'bootID',
  'containerRuntimeVersion',
  'kernelVersion',
  'kubeProxyVersion',
  'kubeletVersion',
  'machineID',
  'operatingSystem',
  'osImage',
  'systemUUID',
];

/** Nodes: new ones are tainted not-ready, as the TaintNodesByCondition admission does. */
export const nodeRules: KindRules = {
  keepsStatusOnCreate: true,
  prepareCreate(node) {
    const spec = ownObject(node, 'spec');
    const taints = listAt(spec, 'taints');
    if (taints.some((taint) => textAt(taint, 'key') === notReadyTaint && textAt(taint, 'effect') === 'NoSchedule'))
      return;
    spec['taints'] = [...taints, { key: notReadyTaint, effect: 'NoSchedule' }];
  },
  applyDefaults(node) {
    fillIn(node, 'spec', {});
    const status = ownObject(node, 'status');
    if (isObject(status['capacity'])) fillIn(status, 'allocatable', status['capacity']);
    fillIn(status, 'daemonEndpoints', { kubeletEndpoint: { Port: 0 } });
    const info = ownObject(status, 'nodeInfo');
    for (const key of emptyNodeInfo) fillIn(info, key, '');
  },
  validate: taintCauses,
  validateUpdate(next, current) {
    const [after, before] = [textAt(next, 'spec', 'providerID'), textAt(current, 'spec', 'providerID')];
    if (before === '' || after === before) return [];
    return [forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid')];
  },
};

/** Namespaces: labelled with their name, emptied before they go. */
export const namespaceRules: KindRules = {
  nameForm: 'label',
  prepareCreate(namespace) {
    ownObject(namespace, 'spec')['finalizers'] = ['kubernetes'];
    namespace['status'] = { phase: 'Active' };
  },
  applyDefaults(namespace) {
    const metadata = ownObject(namespace, 'metadata');
    ownObject(metadata, 'labels')['kubernetes.io/metadata.name'] = textAt(metadata, 'name');
  },
  prepareUpdate(next, current) {
    next['spec'] = objectAt(current, 'spec');
  },
};

/** policy/v1 PodDisruptionBudget. */
export const budgetRules: KindRules = {
  hasGeneration: true,
  applyDefaults(budget) {
    const status = ownObject(budget, 'status');
    for (const key of ['currentHealthy', 'desiredHealthy', 'disruptionsAllowed', 'expectedPods'])
      fillIn(status, key, 0);
  },
  validate(budget) {
    const spec = objectAt(budget, 'spec');
    if (spec['minAvailable'] === undefined || spec['maxUnavailable'] === undefined) return [];
    return [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')];
  },
};

/** Claims of volumes; the protection finalizer is left out, for nobody here would take it away again. */
export const volumeClaimRules: KindRules = {
  prepareCreate(claim) {
    claim['status'] = { phase: 'Pending' };
  },
  applyDefaults(claim) {
    fillIn(ownObject(claim, 'spec'), 'volumeMode', 'Filesystem');
  },
  validate: (claim) => {
    const causes: Array<Cause> = [];
    if (listAt(claim, 'spec', 'accessModes').length === 0) {
      causes.push(required('spec.accessModes', 'at least 1 access mode is required'));
    }
    if (at(claim, 'spec', 'resources', 'requests', 'storage') === undefined) {
      causes.push(required('spec.resources[storage]'));
    }
    return causes;
  },
};

/** Volumes. */
export const volumeRules: KindRules = {
  prepareCreate(volume, state) {
    volume['status'] = { phase: 'Pending', lastPhaseTransitionTime: timestamp(state.clock.now()) };
  },
  applyDefaults(volume) {
    const spec = ownObject(volume, 'spec');
    fillIn(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    fillIn(spec, 'volumeMode', 'Filesystem');
    if (isObject(spec['hostPath'])) fillIn(ownObject(spec, 'hostPath'), 'type', '');
  },
};

/** storage.k8s.io/v1 StorageClass. */
export const storageClassRules: KindRules = {
  applyDefaults(object) {
    fillIn(object, 'reclaimPolicy', 'Delete');
    fillIn(object, 'volumeBindingMode', 'Immediate');
  },
  validate: (object) => (textAt(object, 'provisioner') === '' ? [required('provisioner')] : []),
};

/** scheduling.k8s.io/v1 PriorityClass: its value never changes. */
export const priorityClassRules: KindRules = {
  hasGeneration: true,
  applyDefaults(object) {
    fillIn(object, 'preemptionPolicy', 'PreemptLowerPriority');
    fillIn(object, 'value', 0);
  },
  validateUpdate: (next, current) =>
    equalJson(next['value'] ?? 0, current['value'] ?? 0)
      ? []
      : [forbiddenField('value', 'may not be changed in an update.')],
};

/** Secrets: stringData is written into data. */
export const secretRules: KindRules = {
  applyDefaults(secret) {
    fillIn(secret, 'type', 'Opaque');
    const texts = secret['stringData'];
    if (!isObject(texts)) return;
    const data = ownObject(secret, 'data');
    for (const [key, value] of Object.entries(texts)) data[key] = Buffer.from(String(value)).toString('base64');
    delete secret['stringData'];
  },
  validateUpdate(next, current) {
    const causes: Array<Cause> = [];
    if (next['type'] !== current['type']) causes.push(invalidValue('type', next['type'] ?? '', 'field is immutable'));
    if (current['immutable'] === true && !equalJson(next['data'] ?? {}, current['data'] ?? {})) {
      causes.push(forbiddenField('data', 'field is immutable when `immutable` is set'));
    }
    return causes;
  },
};

/** ConfigMaps. */
export const configMapRules: KindRules = {
  validateUpdate(next, current) {
    if (current['immutable'] !== true || equalJson(next['data'] ?? {}, current['data'] ?? {})) return [];
    return [forbiddenField('data', 'field is immutable when `immutable` is set')];
  },
};

/** Services get a stable address of the sandbox's service range, drawn from their uid. */
function clusterAddress(uid: string): string {
  const bits = Number.parseInt(uid.replaceAll('-', '').slice(0, 4), 16);
  return `10.0.${(bits >> 8) & 255}.${bits & 255 || 1}`;
}

/** Core services. */
export const serviceRules: KindRules = {
  nameForm: 'label',
  prepareCreate(service) {
    const spec = ownObject(service, 'spec');
    fillIn(spec, 'type', 'ClusterIP');
    if (spec['type'] === 'ExternalName') return;
    const address = textAt(spec, 'clusterIP') || clusterAddress(textAt(service, 'metadata', 'uid'));
    spec['clusterIP'] = address;
    fillIn(spec, 'clusterIPs', [address]);
    fillIn(spec, 'ipFamilies', ['IPv4']);
    fillIn(spec, 'ipFamilyPolicy', 'SingleStack');
    fillIn(spec, 'internalTrafficPolicy', 'Cluster');
  },
  applyDefaults(service) {
    const spec = ownObject(service, 'spec');
    fillIn(spec, 'sessionAffinity', 'None');
    const ports = spec['ports'];
    if (Array.isArray(ports)) {
      spec['ports'] = ports.map((port) =>
        isObject(port) ? { protocol: 'TCP', targetPort: port['port'] ?? 0, ...port } : port,
      );
    }
    fillIn(ownObject(service, 'status'), 'loadBalancer', {});
  },
  prepareUpdate(next, current) {
    const spec = ownObject(next, 'spec');
    for (const key of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy', 'type']) {
      const value = at(current, 'spec', key);
      if (value !== undefined) fillIn(spec, key, value);
    }
  },
};
