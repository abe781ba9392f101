import { at, equalJson, isObject, type Json, type JsonObject, objectAt, textAt } from '../json.ts';
import { toLabelMatcher } from '../selectors/label-selector.ts';
import { type Cause, invalidValue, notSupported, required } from '../status-error.ts';
import type { KindRules } from './kind-rules.ts';
import { defaultTemplate, fillIn, ownObject, podSpecCauses } from './pod-spec.ts';

const hasSelector = (object: JsonObject): boolean => {
  const selector = at(object, 'spec', 'selector');
  return isObject(selector) && Object.keys(selector).length > 0;
};

/** Selector and template of workloads that select their own pods. */
function selectorCauses(object: JsonObject): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  const selector = at(object, 'spec', 'selector');
  const labels = at(object, 'spec', 'template', 'metadata', 'labels');
  if (selector === undefined) causes.push(required('spec.selector'));
  else if (!hasSelector(object)) {
    causes.push(invalidValue('spec.selector', selector, 'empty selector is invalid for deployment'));
  }
  if (!toLabelMatcher(selector)(isObject(labels) ? labels : {})) {
    const detail = '`selector` does not match template `labels`';
    causes.push(invalidValue('spec.template.metadata.labels', labels ?? null, detail));
  }
  return causes;
}

function replicaCauses(object: JsonObject): ReadonlyArray<Cause> {
  const replicas = at(object, 'spec', 'replicas');
  if (typeof replicas !== 'number' || replicas >= 0) return [];
  return [invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')];
}

function alwaysRestarts(object: JsonObject): ReadonlyArray<Cause> {
  const policy = textAt(object, 'spec', 'template', 'spec', 'restartPolicy');
  return policy === 'Always' ? [] : [notSupported('spec.template.spec.restartPolicy', policy, ['Always'])];
}

function workloadCauses(object: JsonObject): ReadonlyArray<Cause> {
  const template = objectAt(object, 'spec', 'template', 'spec');
  return [
    ...replicaCauses(object),
    ...selectorCauses(object),
    ...podSpecCauses(template, 'spec.template.spec'),
    ...alwaysRestarts(object),
  ];
}

function immutable(
  field: string,
  ...path: ReadonlyArray<string>
): (next: JsonObject, current: JsonObject) => ReadonlyArray<Cause> {
  return (next, current) => {
    const value: Json = at(next, ...path) ?? null;
    return equalJson(value, at(current, ...path) ?? null) ? [] : [invalidValue(field, value, 'field is immutable')];
  };
}

const fixedSelector = immutable('spec.selector', 'spec', 'selector');

function rollingUpdate(strategy: JsonObject, values: JsonObject): void {
  fillIn(strategy, 'type', 'RollingUpdate');
  if (strategy['type'] !== 'RollingUpdate') return;
  const rolling = ownObject(strategy, 'rollingUpdate');
  for (const [key, value] of Object.entries(values)) fillIn(rolling, key, value);
}

/** apps/v1 Deployment. */
export const deploymentRules: KindRules = {
  hasGeneration: true,
  applyDefaults(object) {
    const spec = ownObject(object, 'spec');
    fillIn(spec, 'replicas', 1);
    fillIn(spec, 'revisionHistoryLimit', 10);
    fillIn(spec, 'progressDeadlineSeconds', 600);
    rollingUpdate(ownObject(spec, 'strategy'), { maxSurge: '25%', maxUnavailable: '25%' });
    defaultTemplate(spec);
    fillIn(object, 'status', {});
  },
  validate: workloadCauses,
  validateUpdate: fixedSelector,
};

/** apps/v1 ReplicaSet. */
export const replicaSetRules: KindRules = {
  hasGeneration: true,
  applyDefaults(object) {
    const spec = ownObject(object, 'spec');
    fillIn(spec, 'replicas', 1);
    defaultTemplate(spec);
    fillIn(ownObject(object, 'status'), 'replicas', 0);
  },
  validate: workloadCauses,
  validateUpdate: fixedSelector,
};

/** apps/v1 StatefulSet. */
export const statefulSetRules: KindRules = {
  hasGeneration: true,
  applyDefaults(object) {
    const spec = ownObject(object, 'spec');
    fillIn(spec, 'replicas', 1);
    fillIn(spec, 'podManagementPolicy', 'OrderedReady');
    fillIn(spec, 'revisionHistoryLimit', 10);
    fillIn(spec, 'persistentVolumeClaimRetentionPolicy', { whenDeleted: 'Retain', whenScaled: 'Retain' });
    rollingUpdate(ownObject(spec, 'updateStrategy'), { partition: 0 });
    defaultTemplate(spec);
    const status = ownObject(object, 'status');
    fillIn(status, 'replicas', 0);
    fillIn(status, 'availableReplicas', 0);
  },
  validate: workloadCauses,
  validateUpdate: fixedSelector,
};

/** apps/v1 DaemonSet. */
export const daemonSetRules: KindRules = {
  hasGeneration: true,
  prepareCreate(object) {
    ownObject(ownObject(object, 'metadata'), 'annotations')['deprecated.daemonset.template.generation'] = '1';
  },
  applyDefaults(object) {
    const spec = ownObject(object, 'spec');
    fillIn(spec, 'revisionHistoryLimit', 10);
    rollingUpdate(ownObject(spec, 'updateStrategy'), { maxSurge: 0, maxUnavailable: 1 });
    defaultTemplate(spec);
    const status = ownObject(object, 'status');
    for (const key of ['currentNumberScheduled', 'desiredNumberScheduled', 'numberMisscheduled', 'numberReady']) {
      fillIn(status, key, 0);
    }
  },
  validate: workloadCauses,
  validateUpdate: fixedSelector,
};

const jobLabels = (uid: string, name: string): JsonObject => ({
  'batch.kubernetes.io/controller-uid': uid,
  'batch.kubernetes.io/job-name': name,
  'controller-uid': uid,
  'job-name': name,
});

function defaultJobSpec(spec: JsonObject): void {
  fillIn(spec, 'backoffLimit', 6);
  fillIn(spec, 'completionMode', 'NonIndexed');
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) fillIn(spec, 'completions', 1);
  fillIn(spec, 'parallelism', 1);
  fillIn(spec, 'manualSelector', false);
  fillIn(spec, 'podReplacementPolicy', 'TerminatingOrFailed');
  fillIn(spec, 'suspend', false);
  defaultTemplate(spec);
}

function finishesOnce(field: string, template: JsonObject): ReadonlyArray<Cause> {
  const policy = textAt(template, 'spec', 'restartPolicy');
  if (policy === 'Never' || policy === 'OnFailure') return [];
  return [notSupported(`${field}.spec.restartPolicy`, policy, ['Never', 'OnFailure'])];
}

/** batch/v1 Job. */
export const jobRules: KindRules = {
  hasGeneration: true,
  prepareCreate(job) {
    const metadata = ownObject(job, 'metadata');
    const spec = ownObject(job, 'spec');
    if (spec['manualSelector'] === true) return;
    const uid = textAt(metadata, 'uid');
    const labels = jobLabels(uid, textAt(metadata, 'name'));
    const template = ownObject(spec, 'template');
    const templateMetadata = ownObject(template, 'metadata');
    templateMetadata['labels'] = { ...objectAt(templateMetadata, 'labels'), ...labels };
    // A job without labels of its own takes those of its template.
    fillIn(metadata, 'labels', { ...objectAt(templateMetadata, 'labels') });
    spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  },
  applyDefaults(job) {
    defaultJobSpec(ownObject(job, 'spec'));
    fillIn(job, 'status', {});
  },
  validate: (job) => [
    ...podSpecCauses(objectAt(job, 'spec', 'template', 'spec'), 'spec.template.spec'),
    ...finishesOnce('spec.template', objectAt(job, 'spec', 'template')),
  ],
  validateUpdate: fixedSelector,
};

/** batch/v1 CronJob. */
export const cronJobRules: KindRules = {
  hasGeneration: true,
  applyDefaults(object) {
    const spec = ownObject(object, 'spec');
    fillIn(spec, 'concurrencyPolicy', 'Allow');
    fillIn(spec, 'failedJobsHistoryLimit', 1);
    fillIn(spec, 'successfulJobsHistoryLimit', 3);
    fillIn(spec, 'suspend', false);
    const template = ownObject(spec, 'jobTemplate');
    fillIn(template, 'metadata', {});
    defaultTemplate(ownObject(template, 'spec'));
    fillIn(object, 'status', {});
  },
  validate(object) {
    const field = 'spec.jobTemplate.spec.template';
    const template = objectAt(object, 'spec', 'jobTemplate', 'spec', 'template');
    const schedule = textAt(object, 'spec', 'schedule') === '' ? [required('spec.schedule')] : [];
    return [
      ...schedule,
      ...podSpecCauses(objectAt(template, 'spec'), `${field}.spec`),
      ...finishesOnce(field, template),
    ];
  },
};
