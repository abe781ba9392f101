import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documents } from '../../kit/infra/access.ts';

const root = resolve(import.meta.dirname, '../../..');
const chart = join(root, 'infra/chart');
const read = (path: string): string => readFileSync(join(chart, path), 'utf8');

type Map = Readonly<Record<string, unknown>>;
const values = parse(read('values.yaml')) as Map;

function isMap(value: unknown): value is Map {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `a.b`; a dot inside a key has a backslash before it, as for `--set`. */
function leaves(of: Map, path = ''): ReadonlyArray<string> {
  return Object.entries(of).flatMap(([key, value]) => {
    const own = `${path}${path === '' ? '' : '.'}${key.replaceAll('.', '\\.')}`;
    return isMap(value) && Object.keys(value).length > 0 ? leaves(value, own) : [own];
  });
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly $ref?: string;
}
const schema = JSON.parse(read('values.schema.json')) as Schema & {
  readonly definitions: Readonly<Record<string, Schema>>;
};

/** The schema with its definitions in place. */
function resolved(one: Schema): Schema {
  const name = one.$ref?.replace('#/definitions/', '');
  return name === undefined ? one : (schema.definitions[name] ?? {});
}

function strays(given: Map, of: Schema, path = ''): ReadonlyArray<string> {
  const { properties } = resolved(of);
  if (properties === undefined) return [];
  const known = Object.keys(properties).filter((key) => key !== 'global');
  const both = [...new Set([...Object.keys(given), ...known])];
  return both.flatMap((key) => {
    const below = properties[key];
    if (!(key in given) || below === undefined) return [`${path}${key}`];
    const value = given[key];
    return isMap(value) ? strays(value, below, `${path}${key}.`) : [];
  });
}

test('the schema of the values knows each value and no other', () => {
  expect(strays(values, schema)).toEqual([]);
});

test('the schema lets the defaults in, and nothing that it does not know', () => {
  expect(Value.Check(schema as never, values)).toBe(true);
  expect(Value.Check(schema as never, { ...values, replica: 2 })).toBe(false);
  const open = Object.entries(schema.properties ?? {}).filter(([key, one]) => {
    const { properties, additionalProperties } = resolved(one);
    return key !== 'global' && properties !== undefined && additionalProperties !== false;
  });
  expect(open).toEqual([]);
});

test('the page of the chart tells what each value is for', () => {
  const text = read('README.md');
  expect(leaves(values).filter((path) => !text.includes(`\`${path}\``))).toEqual([]);
});

test('the page of the chart names no value that is not there', () => {
  const known = leaves(values);
  const rows = read('README.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !known.includes(path))).toEqual([]);
});

test("the chart's version is the product's", () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
});

test('the chart and its manifests carry no address of a machine or a registry of packages', () => {
  // Spelled in parts, so that this file does not carry them either.
  const parts = [
    ['/work', '/'],
    ['/root', '/'],
    ['registry', '.npmjs'],
    ['proxy', '.golang'],
  ];
  const traces = parts.map((both) => both.join(''));
  const files = ['infra', 'relay', 'scripts'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name)),
  );
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  expect(files.filter((_, at) => traces.some((trace) => texts[at]?.includes(trace)))).toEqual([]);
});

test('the network policy lets out what the relay calls, and in whom its metrics are for', () => {
  const policy = documents.find(({ kind }) => kind === 'NetworkPolicy')?.spec as {
    readonly ingress: ReadonlyArray<{ readonly ports: ReadonlyArray<{ readonly port: unknown }> }>;
    readonly egress: ReadonlyArray<{
      readonly ports: ReadonlyArray<{ readonly protocol: string; readonly port: number }>;
    }>;
  };
  const out = policy.egress.flatMap(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`));
  // AMQP over TLS for Service Bus; HTTPS for the API server, storage and Entra ID; names.
  expect(out.toSorted()).toEqual(['TCP 443', 'TCP 53', 'TCP 5671', 'UDP 53']);
  expect(policy.ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(['http-metrics']);
});

test('every variable that the relay is given is one that it reads', () => {
  const text = readFileSync(join(root, 'relay/settings.ts'), 'utf8');
  const deployment = documents.find(({ kind }) => kind === 'Deployment')?.spec as {
    readonly template: {
      readonly spec: { readonly containers: ReadonlyArray<{ readonly env: ReadonlyArray<{ readonly name: string }> }> };
    };
  };
  const names = deployment.template.spec.containers.flatMap(({ env }) => env.map(({ name }) => name));
  expect(names.length).toBeGreaterThan(6);
  expect(names.filter((name) => !text.includes(`'${name}'`))).toEqual([]);
});
