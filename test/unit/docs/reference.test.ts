import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { renderReasonsPage } from '../../../scripts/reasons-page.ts';
import { aksNodeClassKind } from '../../../shared/contract/api/kinds/aks-node-class.ts';
import { nodePoolKind } from '../../../shared/contract/api/kinds/node-pool.ts';
import type { StructuralSchema } from '../../../shared/contract/api/schema/structural.ts';
import { annotation, tag, taint } from '../../../shared/contract/names.ts';
import { driftReasons } from '../../../shared/app/follow/judge/drift.ts';
import { wellKnownLabels } from '../../../shared/kubernetes/pool-labels.ts';
import { listSources } from './said-texts.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');
const docs = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const sources = ['shared', 'relay', 'functions'].flatMap((folder) => listSources(root, folder)).map(read);
const code = sources.join('\n');

/** Paths of the fields that have no fields of their own. */
function leaves(schema: StructuralSchema, path: string): ReadonlyArray<string> {
  const { properties, items } = schema;
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([key, one]) => leaves(one, `${path}.${key}`));
  return items?.properties === undefined ? [path] : leaves(items, `${path}[]`);
}

/** Rows that stand for all fields of a part, or for several lists with the same fields. */
function shown(path: string): string {
  if (path.startsWith('spec.linuxOSConfig.sysctls.')) return 'spec.linuxOSConfig.sysctls';
  return path.includes('DNSOverrides[]') ? (path.split('.').at(-1) ?? path) : path;
}

describe('the page on compatibility', () => {
  const page = read('docs/compatibility.md');

  test.each([nodePoolKind, aksNodeClassKind])('has every field of $kind', ({ spec }) => {
    const missing = leaves(spec, 'spec').filter((path) => !page.includes(`\`${shown(path)}\``));
    expect(missing).toEqual([]);
  });

  test('names no field that no schema has', () => {
    const known = [nodePoolKind, aksNodeClassKind].flatMap(({ spec, moved }) => [
      ...leaves(spec, 'spec'),
      ...Object.keys(moved),
      ...Object.values(moved),
    ]);
    const [served = ''] = page.split('## Fields that moved');
    const named = [...served.matchAll(/`(spec\.[\w.[\]]+)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((path) => !known.some((one) => one === path || one.startsWith(`${path}.`)))).toEqual([]);
  });

  test('names the new place of every field that moved', () => {
    const moved = Object.keys(nodePoolKind.moved);
    expect(moved.filter((path) => !page.includes(`\`${path}\``))).toEqual([]);
  });
});

describe('the page on annotations', () => {
  const page = read('docs/annotations.md');

  test('has every annotation, taint and tag of ours', () => {
    const own = [...Object.values(annotation), ...Object.values(taint).map(({ key }) => key), ...Object.values(tag)];
    expect(own.filter((name) => name.startsWith('nodewright') && !page.includes(name))).toEqual([]);
  });

  test('has a row for each label that pods and NodePools may select by', () => {
    const [, labels = ''] = page.split('## Labels that pods and NodePools select by');
    const rows = [...(labels.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
    expect(named.toSorted()).toEqual([...wellKnownLabels].toSorted());
  });

  test('names no event that nothing publishes', () => {
    const [, events = ''] = page.split('## Events');
    const named = [...events.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(12);
    expect(named.filter((name) => !code.includes(`'${name}'`))).toEqual([]);
  });
});

test('every name of ours that a page has exists in the code', () => {
  const named = docs.flatMap((name) =>
    [...read(name).matchAll(/\bnodewright\.dev([/_][a-z][a-z-]*[a-z])/g)].map(([, key = '']) => [name, key] as const),
  );
  expect(named.length).toBeGreaterThan(30);
  // An annotation is taken off by a dash behind its name; `v1alpha1` is of the public formats.
  const known = (key: string): boolean => key.startsWith('/v') || code.includes(`nodewright.dev${key}`);
  expect(named.filter(([, key]) => !known(key))).toEqual([]);
});

test('every reason of drift that a page has is one that the code gives', () => {
  const named = docs.flatMap((name) =>
    [...read(name).matchAll(/`(\w+(?:Drift|Drifted))`/g)].map(([, reason = '']) => [name, reason] as const),
  );
  expect(named.filter(([, reason]) => !code.includes(`'${reason}'`))).toEqual([]);
});

test('the page on disruption has a row for each reason of drift, in the order of the code', () => {
  const [, rows = ''] = read('docs/disruption.md').split('## Why a node has drifted');
  const named = [...(rows.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, reason = '']) => reason);
  expect(named).toEqual([...driftReasons]);
});

test('the page of reasons is as npm run generate writes it', () => {
  expect(read('docs/reasons.md')).toBe(renderReasonsPage());
});
