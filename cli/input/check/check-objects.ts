import { inspect, kinds } from '../../../shared/contract/api/parse.ts';
import { isDnsSubdomain, isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import type { KindDefinition } from '../../../shared/contract/api/schema/kind.ts';
import { objectResources, type ObjectResource } from '../../../shared/contract/snapshot/reduced/reduced.ts';
import { formerKind } from '../../../shared/contract/api/former-kind.ts';
import { fileProblem, type InputProblem } from '../../wrong-input.ts';
import { mapOf, text, type Report } from './judge.ts';
import { notesOnIgnored } from './ignored.ts';
import { groupOf, knownKind, type KindUse, type KnownKind } from './kinds.ts';
import { meantKind, type MeantKind } from './mistaken-kind.ts';
import type { InputObject, JsonObject } from '../objects.ts';
import type { Origin } from '../read/origin.ts';
import { suspicionsOf } from './suspicions.ts';
import { unknownFields } from './unknown-fields.ts';

/** An object that a plan may read: judged, with its namespace filled in. */
export interface CheckedObject {
  readonly origin: Origin;
  readonly kind: string;
  readonly use: KindUse;
  /** Null where the kind has none. */
  readonly namespace: string | null;
  readonly name: string;
  /** True for an object read from a cluster, where the API server has set its defaults. */
  readonly isLive: boolean;
  readonly value: JsonObject;
}

/** What was given, as far as a plan reads it. */
export interface CheckedInput {
  readonly objects: ReadonlyArray<CheckedObject>;
  readonly problems: ReadonlyArray<InputProblem>;
  /** What the user should know though nothing is wrong, one line each. */
  readonly notes: ReadonlyArray<string>;
}

/**
 * Judges objects as the API server would, and sorts out those that no plan depends on. Of two alike the later counts.
 * `strict`: an unknown field is an error.
 */
export function checkObjects(given: ReadonlyArray<InputObject>, strict = false): CheckedInput {
  const objects = new Map<string, CheckedObject>();
  const problems: Array<InputProblem> = [];
  const ignored: Array<InputObject> = [];
  const notes: Array<string> = [];
  for (const input of given) {
    const checked = checkObject(input, { problems, notes, strict });
    if (checked === null) ignored.push(input);
    else if (checked !== 'wrong') {
      const key = keyOf(checked);
      const earlier = objects.get(key);
      if (earlier !== undefined && JSON.stringify(earlier.value) !== JSON.stringify(checked.value)) {
        notes.push(`${titleOf(checked)} is given twice (${earlier.origin}; ${checked.origin}): the later counts`);
      }
      // An object given again takes its new place, as if it had been applied again.
      objects.delete(key);
      objects.set(key, checked);
    }
  }
  notes.push(...notesOnIgnored(ignored));
  return { objects: [...objects.values()], problems, notes };
}

/** `Deployment default/web`. */
export function titleOf({ kind, namespace, name }: Pick<CheckedObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace === null ? '' : `${namespace}/`}${name}`;
}

function keyOf({ kind, namespace, name }: CheckedObject): string {
  return `${kind}/${namespace ?? ''}/${name}`;
}

/** What is found out while objects are judged. */
interface Findings {
  readonly problems: Array<InputProblem>;
  readonly notes: Array<string>;
  readonly strict: boolean;
}

/** Null for a kind that no plan depends on. */
function checkObject(input: InputObject, findings: Findings): CheckedObject | 'wrong' | null {
  const { problems } = findings;
  const former = formerKind(input.apiVersion, input.kind);
  if (former !== null) {
    problems.push({
      origin: input.origin,
      object: titleOf({ ...input, ...readHead(input, false) }),
      path: 'apiVersion',
      ...former,
    });
    return 'wrong';
  }
  const own = kinds.find(({ kind, group }) => kind === input.kind && group === groupOf(input.apiVersion));
  if (own !== undefined) return checkOwn(input, own, findings);
  if (input.kind === 'Catalog' && groupOf(input.apiVersion) === 'nodewright.dev') {
    problems.push(fileProblem(input.origin, 'is a catalog, not a part of the cluster', 'give it with --catalog'));
    return 'wrong';
  }
  const known = knownKind(input.apiVersion, input.kind);
  if (known !== null) return checkKnown(input, known, findings);
  const meant = meantKind(input.apiVersion, input.kind);
  if (meant === null) return null;
  problems.push(mistaken(input, meant));
  return 'wrong';
}

function mistaken({ origin, apiVersion, kind }: InputObject, meant: MeantKind): InputProblem {
  const isKind = kind === meant.kind;
  return {
    origin,
    object: kind,
    path: isKind ? 'apiVersion' : 'kind',
    message: isKind ? `${apiVersion} has no such kind` : `${JSON.stringify(kind)} is not a kind of ${apiVersion}`,
    fix: isKind ? `write ${meant.apiVersion}` : `write ${meant.kind}`,
  };
}

function checkKnown(input: InputObject, known: KnownKind, findings: Findings): CheckedObject | 'wrong' {
  const { problems } = findings;
  const before = problems.length;
  const head = readHead(input, known.namespaced);
  const report = reporter(input, head, problems);
  if (input.apiVersion !== known.apiVersion && !known.servedToo.includes(input.apiVersion)) {
    report('apiVersion', `${input.apiVersion} is not served`, `write ${known.apiVersion}`);
  }
  judgeMetadata(input, head, report);
  known.judge(input.value, '', report);
  // What was read from a cluster has passed an API server, perhaps a newer one.
  if (!head.isLive) tellDoubts(input, head, { fields: unknownFields(input.kind, input.value), before, findings });
  if (problems.length > before) return 'wrong';
  return { ...head, origin: input.origin, kind: input.kind, use: known.use, value: withHead(input.value, head) };
}

function checkOwn(input: InputObject, definition: KindDefinition, findings: Findings): CheckedObject | 'wrong' {
  const { problems } = findings;
  const before = problems.length;
  const head = readHead(input, definition.scope === 'Namespaced');
  const report = reporter(input, head, problems);
  const inspection = inspect(definition, input.value);
  for (const { path, message, fix } of inspection.problems) report(path, message, fix);
  const fields = inspection.unknownFields.filter((path) => !path.startsWith('status'));
  tellDoubts(input, head, { fields, before, findings });
  if (problems.length > before) return 'wrong';
  const resource = objectResources.find((one) => one === definition.plural);
  if (resource === undefined) throw new Error(`${definition.plural} are no part of a snapshot`);
  return {
    ...head,
    origin: input.origin,
    kind: input.kind,
    use: { use: 'cluster', resource },
    value: offline(resource, inspection.object),
  };
}

/** Unknown fields are errors where that is asked for, and beside other errors: all of them can be fixed at once. */
function tellDoubts(
  input: InputObject,
  head: Head,
  { fields, before, findings }: { fields: ReadonlyArray<string>; before: number; findings: Findings },
): void {
  const { problems, notes, strict } = findings;
  const { origin, kind, value } = input;
  const title = `${origin}: ${titleOf({ kind, ...head })}`;
  if (strict || problems.length > before) {
    const report = reporter(input, head, problems);
    for (const field of fields) report(...asProblem(field));
  } else if (fields.length > 0) notes.push(`${title}: unknown fields are left aside: ${fields.join(', ')}`);
  for (const doubt of suspicionsOf(kind, value)) notes.push(`${title}: ${doubt}`);
}

/** `spec.limts (did you mean limits?)` as a problem of the field. */
function asProblem(field: string): Parameters<Report> {
  const [, path = field, fix = 'remove it'] = /^(.*?) \((.*)\)$/.exec(field) ?? [];
  return [path, 'is not a field of this kind', fix];
}

/** What a pool's conditions say belongs to the cluster that it was read from; a plan from files takes it as ready. */
function offline(resource: ObjectResource, value: JsonObject): JsonObject {
  if (resource !== 'nodepools') return value;
  const { status: _, ...rest } = value;
  return rest;
}

type Head = Pick<CheckedObject, 'namespace' | 'name' | 'isLive'>;

function readHead({ value, origin }: InputObject, namespaced: boolean): Head {
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {};
  const read = (field: string): string => {
    const found = metadata[field];
    return typeof found === 'string' ? found : '';
  };
  // The API server would end such a name with letters at random; where it was read from is as good, and stays the same.
  const generated = read('generateName') === '' ? '' : `${read('generateName')}${origin.replaceAll(/\D+/g, '') || '0'}`;
  return {
    namespace: namespaced ? read('namespace') || 'default' : null,
    name: read('name') || generated,
    isLive: read('uid') !== '',
  };
}

function reporter({ origin, kind }: InputObject, head: Head, problems: Array<InputProblem>): Report {
  const object = head.name === '' ? kind : titleOf({ kind, ...head });
  return (path, message, fix) => problems.push({ origin, object, path, message, fix });
}

const labels = mapOf(text);

function judgeMetadata({ value }: InputObject, { name, namespace }: Head, report: Report): void {
  const metadata = value['metadata'];
  const given = isRecord(metadata) ? metadata['name'] : undefined;
  if (given !== undefined && given !== null && typeof given !== 'string') text(given, 'metadata.name', report);
  else if (name === '') report('metadata.name', 'is missing', 'set it');
  else if (!isDnsSubdomain(name)) {
    report('metadata.name', `${JSON.stringify(name)} is not a name`, 'use lower-case letters, digits, - and .');
  }
  if (namespace !== null && !isDnsSubdomain(namespace)) {
    report('metadata.namespace', `${JSON.stringify(namespace)} is not a name`, 'use lower-case letters, digits and -');
  }
  if (!isRecord(metadata)) return;
  if (metadata['labels'] !== undefined && metadata['labels'] !== null) {
    labels(metadata['labels'], 'metadata.labels', report);
  }
}

function withHead(value: JsonObject, { namespace, name }: Head): JsonObject {
  const metadata = isRecord(value['metadata']) ? value['metadata'] : {};
  return { ...value, metadata: { ...metadata, name, ...(namespace === null ? {} : { namespace }) } };
}
