import { randomUUID } from 'node:crypto';
import { at, isObject, type JsonObject, objectAt, textAt } from '../json.ts';
import type { KindRules } from './kind-rules.ts';
import { type Cause, forbiddenField, invalidValue, required } from '../status-error.ts';

const labelPart = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = new RegExp(`^${labelPart}(\\.${labelPart})*$`);
const label = new RegExp(`^${labelPart}$`);
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainDetail =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelDetail =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const labelValueDetail =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const labelKeyDetail =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/** Why `name` is no name of the form, or []. */
export function nameCauses(name: string, form: KindRules['nameForm'], field: string): ReadonlyArray<Cause> {
  if (form === 'segment') {
    return /[/%]/.test(name) || name === '.' || name === '..' ? [invalidValue(field, name, "may not contain '/'")] : [];
  }
  const limit = form === 'label' ? 63 : 253;
  const causes: Array<Cause> = [];
  if (name.length > limit) causes.push(invalidValue(field, name, `must be no more than ${limit} bytes`));
  const [pattern, detail] = form === 'label' ? [label, labelDetail] : [subdomain, subdomainDetail];
  if (!pattern.test(name)) causes.push(invalidValue(field, name, detail));
  return causes;
}

/** Why `key` cannot be a label's key, or null. */
function labelKeyProblem(key: string): string | null {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) {
    return `a valid label key must consist of alphanumeric characters, '-', '_' or '.' with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
  }
  if (parts.length === 2 && !subdomain.test(parts[0] ?? '')) return `prefix part ${subdomainDetail}`;
  if (name.length > 63) return 'name part must be no more than 63 bytes';
  return qualifiedName.test(name) ? null : labelKeyDetail;
}

/** Causes for label keys and values under `field`. */
function labelCauses(labels: JsonObject, field: string): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  for (const [key, value] of Object.entries(labels)) {
    const problem = labelKeyProblem(key);
    if (problem !== null) causes.push(invalidValue(field, key, problem));
    const text = String(value);
    if (text.length > 63) causes.push(invalidValue(field, text, 'must be no more than 63 bytes'));
    else if (text !== '' && !qualifiedName.test(text)) causes.push(invalidValue(field, text, labelValueDetail));
  }
  return causes;
}

/** The suffix letters of generated names. Source: apimachinery's rand package: no vowels, no look-alikes. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';

/** A name of `prefix` and five random letters, within 63 characters. */
export function generateName(prefix: string): string {
  const bytes = randomUUID().replaceAll('-', '');
  let suffix = '';
  for (let index = 0; index < 5; index++) {
    suffix += suffixLetters[Number.parseInt(bytes.slice(index * 3, index * 3 + 3), 16) % suffixLetters.length] ?? 'x';
  }
  return `${prefix.slice(0, 58)}${suffix}`;
}

/** What is wrong with an object's metadata. */
export function metadataCauses(object: JsonObject, form: KindRules['nameForm']): ReadonlyArray<Cause> {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  if (name === '') return [required('metadata.name', 'name or generateName is required')];
  const causes: Array<Cause> = [...nameCauses(name, form, 'metadata.name')];
  causes.push(...labelCauses(objectAt(metadata, 'labels'), 'metadata.labels'));
  for (const key of Object.keys(objectAt(metadata, 'annotations'))) {
    const problem = labelKeyProblem(key.toLowerCase());
    if (problem !== null) causes.push(invalidValue('metadata.annotations', key, problem));
  }
  const finalizers = at(metadata, 'finalizers');
  if (Array.isArray(finalizers)) causes.push(...finalizers.flatMap((finalizer) => finalizerCauses(String(finalizer))));
  const owners = at(metadata, 'ownerReferences');
  if (Array.isArray(owners)) causes.push(...owners.flatMap((owner, index) => ownerCauses(owner as JsonObject, index)));
  return causes;
}

function finalizerCauses(name: string): ReadonlyArray<Cause> {
  if (!qualifiedName.test(name.split('/').at(-1) ?? ''))
    return [invalidValue('metadata.finalizers', name, labelKeyDetail)];
  const isStandard = name.includes('/') || ['orphan', 'foregroundDeletion', 'kubernetes'].includes(name);
  const detail = 'name is neither a standard finalizer name nor is it fully qualified';
  return isStandard ? [] : [invalidValue('metadata.finalizers', name, detail)];
}

function ownerCauses(owner: JsonObject, index: number): ReadonlyArray<Cause> {
  const field = `metadata.ownerReferences[${index}]`;
  return ['apiVersion', 'kind', 'name', 'uid']
    .filter((key) => textAt(owner, key) === '')
    .map((key) => invalidValue(`${field}.${key}`, '', `${key === 'apiVersion' ? 'version' : key} must not be empty`));
}

/** What an update may not change in metadata; `next` has what clients leave out filled in already. */
export function metadataUpdateCauses(next: JsonObject, current: JsonObject): ReadonlyArray<Cause> {
  const causes: Array<Cause> = [];
  for (const key of ['name', 'namespace', 'uid', 'creationTimestamp']) {
    const value = textAt(next, 'metadata', key);
    if (value !== textAt(current, 'metadata', key)) {
      causes.push(invalidValue(`metadata.${key}`, value, 'field is immutable'));
    }
  }
  if (at(current, 'metadata', 'deletionTimestamp') !== undefined) {
    const before = new Set(at(current, 'metadata', 'finalizers') as Array<string> | undefined);
    const added = ((at(next, 'metadata', 'finalizers') as Array<string> | undefined) ?? []).filter(
      (name) => !before.has(name),
    );
    if (added.length > 0) {
      const list = `[]string{${added.map((name) => JSON.stringify(name)).join(', ')}}`;
      const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
      causes.push(forbiddenField('metadata.finalizers', detail));
    }
  }
  return causes;
}

/** Metadata of an update with the fields that only the server writes taken from the current object. */
export function keepServerMetadata(next: JsonObject, current: JsonObject): void {
  const metadata = isObject(next['metadata']) ? { ...next['metadata'] } : {};
  const before = objectAt(current, 'metadata');
  for (const key of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation']) {
    delete metadata[key];
    if (before[key] !== undefined) metadata[key] = before[key];
  }
  for (const key of ['uid', 'name', 'namespace', 'generateName', 'managedFields']) {
    if (metadata[key] === undefined && before[key] !== undefined) metadata[key] = before[key];
  }
  delete metadata['selfLink'];
  next['metadata'] = metadata;
}

/** A fresh uid. */
export function newUid(): string {
  return randomUUID();
}
