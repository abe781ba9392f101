import type { Problem } from './validation-error.ts';

/** The parts of an object's metadata that are read here. Whatever else is there stays there. */
export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: ReadonlyArray<string>;
  readonly ownerReferences?: ReadonlyArray<{
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
    readonly blockOwnerDeletion?: boolean;
  }>;
}

/** A part of a label key or value: letters and digits, with `-`, `_`, `.` between them. */
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/u;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
/** Limits of apimachinery's validation package. */
const MAX_NAME_PART = 63;
const MAX_DNS_SUBDOMAIN = 253;

/** Whether this is a DNS name of lower-case labels, at most 253 characters, as object names and label prefixes are. */
export function isDnsSubdomain(value: string): boolean {
  return value.length <= MAX_DNS_SUBDOMAIN && DNS_SUBDOMAIN.test(value);
}

/** Whether this is a label key: a name of at most 63 characters after an optional DNS prefix and a slash. */
export function isQualifiedName(key: string): boolean {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2 || name.length > MAX_NAME_PART || !NAME_PART.test(name)) return false;
  return parts.length === 1 || isDnsSubdomain(parts[0] ?? '');
}

/** Whether this is a label value: empty, or at most 63 characters. */
export function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= MAX_NAME_PART && NAME_PART.test(value));
}

/** Whether this is an object that is not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the API server would refuse in `metadata` of a custom resource. */
export function metadataProblems(value: unknown, namespaced: boolean): ReadonlyArray<Problem> {
  const problems: Array<Problem> = [];
  const add: Add = (path, message, fix) => {
    problems.push({ path: path === '' ? 'metadata' : `metadata.${path}`, message, fix, layer: 'schema' });
  };
  if (!isRecord(value)) {
    add('', 'is missing', 'set metadata.name');
    return problems;
  }
  judgeName(value['name'], value['generateName'], add);
  if (!namespaced && typeof value['namespace'] === 'string' && value['namespace'] !== '') {
    add('namespace', 'is set on a cluster-scoped kind', 'remove it');
  }
  for (const [key, text] of stringsOf(value['labels'], 'labels', add)) {
    if (!isQualifiedName(key)) add(`labels[${key}]`, 'the key is not a label key', 'use prefix/name');
    if (!isLabelValue(text)) add(`labels[${key}]`, 'is not a label value', 'use at most 63 of A-Z a-z 0-9 - _ .');
  }
  for (const [key] of stringsOf(value['annotations'], 'annotations', add)) {
    // Unlike the prefix of a label, that of an annotation may have capitals.
    if (!isQualifiedName(key.toLowerCase())) {
      add(`annotations[${key}]`, 'the key is not an annotation key', 'use prefix/name');
    }
  }
  return problems;
}

type Add = (path: string, message: string, fix: string) => void;

function judgeName(name: unknown, prefix: unknown, add: Add): void {
  const given = name ?? prefix;
  if (typeof given !== 'string' || given === '') add('name', 'is missing', 'give the object a name');
  // The API server completes a prefix, so what it ends in does not matter.
  else if (!isDnsSubdomain(name === undefined ? `${given}x` : given)) {
    add('name', `${JSON.stringify(given)} is not a DNS name`, 'use lower-case letters, digits, "-" and "."');
  }
}

function stringsOf(value: unknown, path: string, add: Add): ReadonlyArray<readonly [string, string]> {
  if (value === undefined || value === null) return [];
  const entries = isRecord(value) ? Object.entries(value) : null;
  if (entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string') === true) return entries;
  add(path, 'is not a map of strings', 'quote every value');
  return [];
}
