import { at, type Json, type JsonObject, textAt } from '../json.ts';
import type { Resource } from '../registry/resources.ts';
import { badRequest } from '../status-error.ts';

/** Tells whether an object is selected. */
export type ObjectMatcher = (object: JsonObject) => boolean;

const involved = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/**
 * Fields that may be selected beside metadata.name and metadata.namespace. Source: the API server's registry
 * strategies, 1.36.
 */
const selectable: Readonly<Record<string, ReadonlyArray<string>>> = {
  'pods.': [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  'nodes.': ['spec.unschedulable'],
  'namespaces.': ['status.phase'],
  'secrets.': ['type'],
  'services.': ['spec.clusterIP', 'spec.type'],
  'replicationcontrollers.': ['status.replicas'],
  'events.': [...involved.map((field) => `involvedObject.${field}`), 'reason', 'reportingComponent', 'source', 'type'],
  'replicasets.apps': ['status.replicas'],
  'jobs.batch': ['status.successful'],
  'certificatesigningrequests.certificates.k8s.io': ['spec.signerName'],
  'resourceslices.resource.k8s.io': ['spec.nodeName', 'spec.driver'],
};

/** Fields whose absence reads as something else than ''. */
const absent: Readonly<Record<string, string>> = {
  'spec.unschedulable': 'false',
  'spec.hostNetwork': 'false',
  'status.replicas': '0',
  'status.successful': '0',
};

function fieldText(object: JsonObject, field: string): string {
  if (field === 'source') return textAt(object, 'source', 'component') || textAt(object, 'reportingComponent');
  const value: Json | undefined = at(
    object,
    ...(field === 'status.successful' ? ['status', 'succeeded'] : field.split('.')),
  );
  if (value === undefined || value === null) return absent[field] ?? '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const termForm = /^([^=!]+)(==|=|!=)(.*)$/;

/** Commas and equals signs inside a value are escaped with a backslash. */
function splitTerms(text: string): Array<string> {
  return text.split(/(?<!\\),/).filter((term) => term !== '');
}

/**
 * Parses a field selector for `resource`; `extra` are the selectable fields of a custom resource. Throws BadRequest for
 * a field that cannot be selected.
 */
export function parseFieldSelector(text: string, resource: Resource, extra: ReadonlyArray<string>): ObjectMatcher {
  const known = new Set(['metadata.name', ...(selectable[resource.storage] ?? []), ...extra]);
  if (resource.namespaced || resource.definedBy === null) known.add('metadata.namespace');
  const terms = splitTerms(text).map((term): ObjectMatcher => {
    const match = termForm.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
    const [, field = '', operator, quoted = ''] = match;
    const value = quoted.replaceAll(/\\(.)/g, '$1');
    if (!known.has(field)) throw badRequest(`field label not supported: ${field}`);
    return operator === '!='
      ? (object) => fieldText(object, field) !== value
      : (object) => fieldText(object, field) === value;
  });
  return (object) => terms.every((matches) => matches(object));
}
