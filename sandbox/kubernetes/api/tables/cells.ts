import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import { age, ageOf, humanDuration } from './cell-text.ts';
import { nodeCells } from './node-cells.ts';
import { podCells } from './pod-cells.ts';

type Cells = (object: JsonObject, nowMs: number) => Array<Json>;

const nameOf = (object: JsonObject): string => textAt(object, 'metadata', 'name');
const orNone = (text: string): string => text || '<none>';

function scalar(value: Json | undefined, absent: string): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : absent;
}

function expressionText(expression: Json): string {
  const [key, operator] = [textAt(expression, 'key'), textAt(expression, 'operator')];
  const values = listAt(expression, 'values').map((value) => scalar(value, ''));
  if (operator === 'Exists') return key;
  return operator === 'DoesNotExist' ? `!${key}` : `${key} ${operator.toLowerCase()} (${values.toSorted().join(',')})`;
}

/** A selector as one text: labels first, then expressions. */
function selectorText(selector: Json | undefined): string {
  if (!isObject(selector)) return '<none>';
  const isPlain = selector['matchLabels'] === undefined && selector['matchExpressions'] === undefined;
  const labels = isPlain ? selector : objectAt(selector, 'matchLabels');
  const terms = Object.entries(labels).map(([key, value]) => `${key}=${scalar(value, '')}`);
  return orNone([...terms.toSorted(), ...listAt(selector, 'matchExpressions').map(expressionText)].join(','));
}

function containers(template: Json | undefined): [string, string] {
  const list = listAt(template, 'spec', 'containers');
  return [list.map((item) => textAt(item, 'name')).join(','), list.map((item) => textAt(item, 'image')).join(',')];
}

const templateOf = (object: JsonObject): Json | undefined => at(object, 'spec', 'template');
const status = (object: JsonObject, key: string): number => numberAt(object, 0, 'status', key);

const deployment: Cells = (object, now) => [
  nameOf(object),
  `${status(object, 'readyReplicas')}/${numberAt(object, 0, 'spec', 'replicas')}`,
  status(object, 'updatedReplicas'),
  status(object, 'availableReplicas'),
  age(object, now),
  ...containers(templateOf(object)),
  selectorText(at(object, 'spec', 'selector')),
];

const replicaSet: Cells = (object, now) => [
  nameOf(object),
  numberAt(object, 0, 'spec', 'replicas'),
  status(object, 'replicas'),
  status(object, 'readyReplicas'),
  age(object, now),
  ...containers(templateOf(object)),
  selectorText(at(object, 'spec', 'selector')),
];

const daemonSet: Cells = (object, now) => [
  nameOf(object),
  status(object, 'desiredNumberScheduled'),
  status(object, 'currentNumberScheduled'),
  status(object, 'numberReady'),
  status(object, 'updatedNumberScheduled'),
  status(object, 'numberAvailable'),
  selectorText(objectAt(object, 'spec', 'template', 'spec', 'nodeSelector')),
  age(object, now),
  ...containers(templateOf(object)),
  selectorText(at(object, 'spec', 'selector')),
];

const statefulSet: Cells = (object, now) => [
  nameOf(object),
  `${status(object, 'readyReplicas')}/${numberAt(object, 0, 'spec', 'replicas')}`,
  age(object, now),
  ...containers(templateOf(object)),
];

function jobStatus(job: JsonObject): string {
  const isTrue = (type: string): boolean =>
    listAt(job, 'status', 'conditions').some(
      (condition) => textAt(condition, 'type') === type && textAt(condition, 'status') === 'True',
    );
  if (isTrue('Complete')) return 'Complete';
  if (isTrue('Failed')) return 'Failed';
  if (textAt(job, 'metadata', 'deletionTimestamp') !== '') return 'Terminating';
  return isTrue('Suspended') ? 'Suspended' : 'Running';
}

function jobDuration(job: JsonObject, now: number): string {
  const started = textAt(job, 'status', 'startTime');
  if (started === '') return '';
  const ended = textAt(job, 'status', 'completionTime');
  return humanDuration((ended === '' ? now : Date.parse(ended)) - Date.parse(started));
}

const job: Cells = (object, now) => {
  const wanted = at(object, 'spec', 'completions');
  const total = wanted === undefined ? `1 of ${numberAt(object, 1, 'spec', 'parallelism')}` : scalar(wanted, '1');
  return [
    nameOf(object),
    jobStatus(object),
    `${status(object, 'succeeded')}/${total}`,
    jobDuration(object, now),
    age(object, now),
    ...containers(templateOf(object)),
    selectorText(at(object, 'spec', 'selector')),
  ];
};

const cronJob: Cells = (object, now) => {
  const last = textAt(object, 'status', 'lastScheduleTime');
  return [
    nameOf(object),
    textAt(object, 'spec', 'schedule'),
    orNone(textAt(object, 'spec', 'timeZone')),
    at(object, 'spec', 'suspend') === true ? 'True' : 'False',
    listAt(object, 'status', 'active').length,
    last === '' ? '<none>' : ageOf(last, now),
    age(object, now),
    ...containers(at(object, 'spec', 'jobTemplate', 'spec', 'template')),
    selectorText(at(object, 'spec', 'jobTemplate', 'spec', 'selector')),
  ];
};

const event: Cells = (object, now) => {
  const series = textAt(object, 'series', 'lastObservedTime');
  const eventTime = textAt(object, 'eventTime');
  const first = textAt(object, 'firstTimestamp') || eventTime;
  const last = series || textAt(object, 'lastTimestamp') || first;
  const about = objectAt(object, 'involvedObject');
  const component = textAt(object, 'source', 'component') || textAt(object, 'reportingComponent');
  const host = textAt(object, 'source', 'host') || textAt(object, 'reportingInstance');
  return [
    ageOf(last, now),
    textAt(object, 'type'),
    textAt(object, 'reason'),
    `${textAt(about, 'kind').toLowerCase()}/${textAt(about, 'name')}`,
    textAt(about, 'fieldPath'),
    [component, host].filter((text) => text !== '').join(', '),
    textAt(object, 'message').trim(),
    ageOf(first, now),
    numberAt(object, numberAt(object, 1, 'count'), 'series', 'count'),
    nameOf(object),
  ];
};

const accessNames: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

const accessModes = (modes: ReadonlyArray<Json>): string =>
  modes.map((mode) => accessNames[scalar(mode, '')] ?? scalar(mode, '')).join(',');

const volumeStatus = (object: JsonObject): string =>
  textAt(object, 'metadata', 'deletionTimestamp') === '' ? textAt(object, 'status', 'phase') : 'Terminating';

const volumeClaim: Cells = (object, now) => {
  const isBound = textAt(object, 'spec', 'volumeName') !== '';
  return [
    nameOf(object),
    volumeStatus(object),
    textAt(object, 'spec', 'volumeName'),
    isBound ? textAt(object, 'status', 'capacity', 'storage') : '',
    isBound ? accessModes(listAt(object, 'status', 'accessModes')) : '',
    textAt(object, 'spec', 'storageClassName'),
    textAt(object, 'spec', 'volumeAttributesClassName') || '<unset>',
    age(object, now),
    textAt(object, 'spec', 'volumeMode') || '<unset>',
  ];
};

const volume: Cells = (object, now) => {
  const claim = objectAt(object, 'spec', 'claimRef');
  return [
    nameOf(object),
    textAt(object, 'spec', 'capacity', 'storage'),
    accessModes(listAt(object, 'spec', 'accessModes')),
    textAt(object, 'spec', 'persistentVolumeReclaimPolicy'),
    volumeStatus(object),
    textAt(claim, 'name') === '' ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`,
    textAt(object, 'spec', 'storageClassName'),
    textAt(object, 'spec', 'volumeAttributesClassName') || '<unset>',
    textAt(object, 'status', 'reason'),
    age(object, now),
    textAt(object, 'spec', 'volumeMode') || '<unset>',
  ];
};

function portText(port: Json): string {
  const number = numberAt(port, 0, 'port');
  const node = numberAt(port, 0, 'nodePort');
  return `${number}${node > 0 ? `:${node}` : ''}/${textAt(port, 'protocol')}`;
}

const service: Cells = (object, now) => [
  nameOf(object),
  textAt(object, 'spec', 'type'),
  textAt(object, 'spec', 'clusterIP') || '<none>',
  textAt(object, 'spec', 'type') === 'LoadBalancer'
    ? textAt(object, 'status', 'loadBalancer', 'ingress', 0, 'ip') || '<pending>'
    : '<none>',
  orNone(listAt(object, 'spec', 'ports').map(portText).join(',')),
  age(object, now),
  selectorText(at(object, 'spec', 'selector')),
];

const budget: Cells = (object, now) => [
  nameOf(object),
  scalar(at(object, 'spec', 'minAvailable'), 'N/A'),
  scalar(at(object, 'spec', 'maxUnavailable'), 'N/A'),
  status(object, 'disruptionsAllowed'),
  age(object, now),
];

const storageClass: Cells = (object, now) => {
  const isDefault = at(object, 'metadata', 'annotations', 'storageclass.kubernetes.io/is-default-class') === 'true';
  return [
    `${nameOf(object)}${isDefault ? ' (default)' : ''}`,
    textAt(object, 'provisioner'),
    textAt(object, 'reclaimPolicy'),
    textAt(object, 'volumeBindingMode'),
    at(object, 'allowVolumeExpansion') === true,
    age(object, now),
  ];
};

const created: Cells = (object) => [nameOf(object), textAt(object, 'metadata', 'creationTimestamp')];
const roleBinding: Cells = (object, now) => {
  const names = (kind: string): string =>
    listAt(object, 'subjects')
      .filter((subject) => textAt(subject, 'kind') === kind)
      .map((subject) => (kind === 'ServiceAccount' ? `${textAt(subject, 'namespace')}/` : '') + textAt(subject, 'name'))
      .join(', ');
  const role = `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`;
  return [nameOf(object), role, age(object, now), names('User'), names('Group'), names('ServiceAccount')];
};

const byStorage: Readonly<Record<string, Cells>> = {
  'pods.': podCells,
  'nodes.': nodeCells,
  'events.': event,
  'deployments.apps': deployment,
  'replicasets.apps': replicaSet,
  'replicationcontrollers.': replicaSet,
  'daemonsets.apps': daemonSet,
  'statefulsets.apps': statefulSet,
  'jobs.batch': job,
  'cronjobs.batch': cronJob,
  'persistentvolumeclaims.': volumeClaim,
  'persistentvolumes.': volume,
  'services.': service,
  'poddisruptionbudgets.policy': budget,
  'storageclasses.storage.k8s.io': storageClass,
  'clusterrolebindings.rbac.authorization.k8s.io': roleBinding,
  'rolebindings.rbac.authorization.k8s.io': roleBinding,
  'clusterroles.rbac.authorization.k8s.io': created,
  'roles.rbac.authorization.k8s.io': created,
  'customresourcedefinitions.apiextensions.k8s.io': created,
  'limitranges.': created,
  'namespaces.': (object, now) => [nameOf(object), textAt(object, 'status', 'phase'), age(object, now)],
  'configmaps.': (object, now) => [
    nameOf(object),
    Object.keys(objectAt(object, 'data')).length + Object.keys(objectAt(object, 'binaryData')).length,
    age(object, now),
  ],
  'secrets.': (object, now) => [
    nameOf(object),
    textAt(object, 'type'),
    Object.keys(objectAt(object, 'data')).length,
    age(object, now),
  ],
  'priorityclasses.scheduling.k8s.io': (object, now) => [
    nameOf(object),
    numberAt(object, 0, 'value'),
    at(object, 'globalDefault') === true,
    age(object, now),
    textAt(object, 'preemptionPolicy'),
  ],
  'leases.coordination.k8s.io': (object, now) => [
    nameOf(object),
    textAt(object, 'spec', 'holderIdentity'),
    age(object, now),
  ],
  'csinodes.storage.k8s.io': (object, now) => [
    nameOf(object),
    listAt(object, 'spec', 'drivers').length,
    age(object, now),
  ],
  'networkpolicies.networking.k8s.io': (object, now) => [
    nameOf(object),
    selectorText(at(object, 'spec', 'podSelector')),
    age(object, now),
  ],
  'resourceslices.resource.k8s.io': (object, now) => [
    nameOf(object),
    textAt(object, 'spec', 'nodeName'),
    textAt(object, 'spec', 'driver'),
    textAt(object, 'spec', 'pool', 'name'),
    age(object, now),
  ],
  'resourceclaims.resource.k8s.io': (object, now) => [
    nameOf(object),
    at(object, 'status', 'allocation') === undefined
      ? 'pending'
      : ['allocated', ...(listAt(object, 'status', 'reservedFor').length > 0 ? ['reserved'] : [])].join(','),
    age(object, now),
  ],
};

/** The cells of a built-in object, in its columns' order; null for kinds that have no row of their own here. */
export function cellsOf(storage: string, object: JsonObject, nowMs: number): Array<Json> | null {
  return byStorage[storage]?.(object, nowMs) ?? null;
}
