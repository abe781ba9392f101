import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { manifestParts, specPart } from '../../../../../cli/input/check/field-names.ts';
import { unknownFields } from '../../../../../cli/input/check/unknown-fields.ts';
import { parseCommand } from '../../../../../cli/command.ts';
import { planDocument, pool, problemsOf, workload } from '../../../../kit/cli/plan-manifests.ts';

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

const old = (policy: string) => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  disruption: { consolidationPolicy: ${policy}, expireAfter: 720h, consolidateAfter: 0s }
  template:
    spec:
      nodeClassRef: { apiVersion: karpenter.azure.com/v1beta1, name: default }
      requirments: []
`;

test('of an old manifest all that is to mend is told at once: what is wrong, and fields with their new place', async () => {
  const place = 'standard input: NodePool general: spec';
  expect(await problemsOf(old('WhenUnderutilized'))).toEqual([
    `${place}.disruption.consolidationPolicy: "WhenUnderutilized" is not a choice here (did you mean WhenEmptyOrUnderutilized? use one of WhenEmpty, WhenEmptyOrUnderutilized, Balanced)`,
    `${place}.template.spec.nodeClassRef.group: is missing (write the group without its version, as karpenter.azure.com)`,
    `${place}.template.spec.nodeClassRef.kind: is missing (set it to AKSNodeClass)`,
    `${place}.template.spec.requirements: is missing (set it)`,
    `${place}.disruption.expireAfter: is not a field of this kind (write it as spec.template.spec.expireAfter)`,
    `${place}.template.spec.nodeClassRef.apiVersion: is not a field of this kind (write it as spec.template.spec.nodeClassRef.group, without the version)`,
    `${place}.template.spec.requirments: is not a field of this kind (did you mean requirements?)`,
  ]);
});

test('a choice with a letter in the wrong case is told with the one that was meant', async () => {
  const [first] = await problemsOf(old('WhenEmptyOrUnderUtilized'));
  expect(first).toContain('(did you mean WhenEmptyOrUnderutilized? use one of');
});

test('an unknown field is a note, and fails a run that is strict', async () => {
  const moved = pool.replace(
    '  template:',
    '  disruption: { consolidateAfter: 0s, expireAfter: 720h, zzz: 1 }\n  template:',
  );
  const place = 'spec.disruption.expireAfter (write it as spec.template.spec.expireAfter)';
  const { notes } = await planDocument([moved]);
  expect(notes.join()).toContain(`unknown fields are left aside: ${place}`);
  expect(await problemsOf([moved], { strict: true })).toEqual([
    'standard input, document 1: NodePool general: spec.disruption.expireAfter: is not a field of this kind (write it as spec.template.spec.expireAfter)',
    'standard input, document 1: NodePool general: spec.disruption.zzz: is not a field of this kind (remove it)',
  ]);
});

test('a run is strict where that is asked for', () => {
  expect(parseCommand(['plan', '-f', 'a.yaml', '--strict'])).toMatchObject({ kind: 'plan', strict: true });
  expect(parseCommand(['disrupt', '--strict', '-f', 'a.yaml'])).toMatchObject({ kind: 'disrupt', strict: true });
  expect(parseCommand(['plan', '-f', 'a.yaml'])).toMatchObject({ strict: false });
  expect(() => parseCommand(['launch', '-f', 'a.yaml', '--strict'])).toThrow('is not an option');
});
