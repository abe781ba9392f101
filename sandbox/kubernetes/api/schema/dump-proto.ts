/**
 * Writes proto.generated.json beside this file: the field numbers of the served kinds' protobuf messages, which kubectl
 * uses for its own creates. Run it once per Kubernetes release with the folders of both Go modules:
 *
 *   node sandbox/kubernetes/api/schema/dump-proto.ts <k8s.io/api folder> <k8s.io/apimachinery folder>
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { objectAt, type JsonObject } from '../json.ts';

/** [number, name, type, shape]; shape: '' one, 'r' repeated, 'm' map of text to type, 'i' inlined into the parent. */
type Field = readonly [number, string, string, '' | 'r' | 'm' | 'i'];

const messageForm = /^message (\w+) \{\n([\s\S]*?)^\}/gm;
const fieldForm = /^\s+(optional|repeated|map<string, ([\w.]+)>)\s+(?:([\w.]+)\s+)?(\w+) = (\d+);/gm;
const scalars = new Set(['string', 'bool', 'int32', 'int64', 'uint32', 'uint64', 'double', 'float', 'bytes']);

const definitions = JSON.parse(
  readFileSync(new URL('definitions.generated.json', import.meta.url), 'utf8'),
) as JsonObject;

function fullType(type: string, packageName: string): string {
  if (scalars.has(type)) return type;
  const name = type.replace(/^\./, '');
  return name.includes('.') ? name : `${packageName}.${name}`;
}

function fieldsOf(body: string, packageName: string, message: string): ReadonlyArray<Field> {
  const known = objectAt(definitions, `io.${packageName.replace(/^k8s\.io/, 'k8s')}.${message}`, 'properties');
  return [...body.matchAll(fieldForm)].map((match): Field => {
    const [, label = '', mapType, type = '', name = '', number] = match;
    if (mapType !== undefined) return [Number(number), name, fullType(mapType, packageName), 'm'];
    const isInline = Object.keys(known).length > 0 && !Object.hasOwn(known, name) && !scalars.has(type);
    const shape = label === 'repeated' ? 'r' : isInline ? 'i' : '';
    return [Number(number), name, fullType(type, packageName), shape];
  });
}

const [apiFolder, machineryFolder] = process.argv.slice(2);
if (apiFolder === undefined || machineryFolder === undefined) {
  throw new Error('usage: dump-proto.ts <k8s.io/api folder> <k8s.io/apimachinery folder>');
}
const messages: Record<string, ReadonlyArray<Field>> = {};
const files = [
  ...globSync('*/v*/generated.proto', { cwd: apiFolder }).map((file) => join(apiFolder, file)),
  ...globSync('pkg/**/generated.proto', { cwd: machineryFolder }).map((file) => join(machineryFolder, file)),
];
for (const file of files.filter((name) => !/(alpha|beta)\d+\/generated/.test(name))) {
  const text = readFileSync(file, 'utf8').replaceAll(/^\s*\/\/.*\n/gm, '');
  const packageName = /^package ([\w.]+);/m.exec(text)?.[1] ?? '';
  for (const [, name = '', body = ''] of text.matchAll(messageForm)) {
    messages[`${packageName}.${name}`] = fieldsOf(body, packageName, name);
  }
}
writeFileSync(new URL('proto.generated.json', import.meta.url), `${JSON.stringify(messages)}\n`);
