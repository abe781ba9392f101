import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { manifestParts, specPart } from '../../../cli/input/field-names.ts';
import { unknownFields } from '../../../cli/input/unknown-fields.ts';
import { planDocument, pool, workload } from './plan-manifests.ts';

test('the known fields are those of the API server’s own schema', () => {
  const text = readFileSync('sandbox/kubernetes/api/schema/definitions.generated.json', 'utf8');
  const definitions = JSON.parse(text) as Readonly<Record<string, { readonly properties?: object }>>;
  for (const [name, { names }] of Object.entries(manifestParts)) {
    const definition = Object.keys(definitions).find((key) => new RegExp(`\\.v1\\.${name}$`).test(key)) ?? '';
    expect(names.split(' '), name).toEqual(Object.keys(definitions[definition]?.properties ?? {}).toSorted());
  }
});

test('every part that a field holds is listed', () => {
  const named = [
    ...Object.values(manifestParts).flatMap(({ inside }) => Object.values(inside)),
    ...Object.values(specPart),
  ];
  for (const part of named) expect(Object.keys(manifestParts)).toContain(part);
});

test('a field that the API does not have is told with the one that was meant', () => {
  const spec = {
    nodeSelectors: {},
    containers: [{ resource: {}, image: 'x' }],
    affinity: { nodeAffinities: {} },
    zzz: 1,
  };
  expect(unknownFields('Pod', { spec })).toEqual([
    'spec.nodeSelectors (did you mean nodeSelector?)',
    'spec.containers[0].resource (did you mean resources?)',
    'spec.affinity.nodeAffinities',
    'spec.zzz',
  ]);
  expect(unknownFields('Pod', { spec: 7 })).toEqual([]);
  expect(unknownFields('Service', { spec })).toEqual([]);
});

test('a field that was misspelt is said beside the plan, once', async () => {
  const { notes } = await planDocument([
    pool,
    workload('Deployment', 'web', 2).replace('containers:', 'tolerration: [], containers:'),
  ]);
  expect(notes).toEqual([
    'standard input, document 3: Deployment default/web: unknown fields are left aside: spec.template.spec.tolerration (did you mean tolerations?)',
  ]);
});
