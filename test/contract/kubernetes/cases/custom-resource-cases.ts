import { beforeAll, describe, expect, test } from 'vitest';
import { type ApiUnderTest, eventually } from './api-under-test.ts';

const merge = 'application/merge-patch+json';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.contract.example' },
  spec: {
    group: 'contract.example',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget', shortNames: ['gd'], categories: ['toys'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'string', jsonPath: '.spec.size' },
          { name: 'Ready', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
        ],
        selectableFields: [{ jsonPath: '.spec.size' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                'x-kubernetes-validations': [
                  { rule: '!has(self.replicas) || self.replicas <= self.max', message: 'replicas must not exceed max' },
                  { rule: 'self.size == oldSelf.size', message: 'size is immutable', fieldPath: '.size' },
                ],
                properties: {
                  size: { type: 'string', enum: ['small', 'large'] },
                  replicas: { type: 'integer', minimum: 0 },
                  max: { type: 'integer', default: 5 },
                  code: { type: 'string', pattern: '^[a-z]+$', maxLength: 4 },
                  when: { type: 'string', format: 'date-time' },
                  tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', maxItems: 3 },
                  parts: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, weight: { type: 'integer', default: 1 } },
                    },
                  },
                  amount: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

/** CustomResourceDefinitions and what they promise: serving, pruning, defaults, validation, rules, subresources. */
export function customResourceCases(api: () => ApiUnderTest): void {
  let path = '';
  beforeAll(async () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await api().send('POST', definitions, { body: definition });
    const name = `${definitions}/${definition.metadata.name}`;
    await eventually(
      () => api().send('GET', name),
      ({ body }) =>
        body.status.conditions?.some(
          (found: { type: string; status: string }) => found.type === 'Established' && found.status === 'True',
        ),
    );
    path = `/apis/contract.example/v1/namespaces/${await api().namespace()}/gadgets`;
    await eventually(
      () => api().send('GET', path),
      ({ status }) => status === 200,
    );
  });
  const gadget = (name: string, spec: object): object => ({
    apiVersion: 'contract.example/v1',
    kind: 'Gadget',
    metadata: { name },
    spec: { size: 'small', ...spec },
  });

  describe('custom resources', () => {
    test('defaults are filled in, unknown fields are pruned, and free objects are kept', async () => {
      const body = gadget('a', { other: 1, parts: [{ name: 'x' }], free: { any: { thing: [1] } } });
      const made = await api().send('POST', path, { body });
      expect(made.status).toBe(201);
      expect(made.body.spec).toEqual({
        size: 'small',
        max: 5,
        parts: [{ name: 'x', weight: 1 }],
        free: { any: { thing: [1] } },
      });
      expect(made.headers['warning']).toBe('299 - "unknown field \\"spec.other\\""');
      expect(made.body.metadata.generation).toBe(1);
    });

    test.each([
      [{ size: 'huge' }, 'spec.size: Unsupported value: "huge": supported values: "small", "large"'],
      [
        { replicas: -1 },
        'spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0',
      ],
      [
        { replicas: 'x' },
        'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
      ],
      [{ code: 'A' }, 'spec.code: Invalid value: "A": spec.code in body should match \'^[a-z]+$\''],
      [{ code: 'abcde' }, 'spec.code: Too long: may not be more than 4 bytes'],
      [{ when: 'today' }, 'spec.when: Invalid value: "today": spec.when in body must be of type date-time: "today"'],
      [{ tags: ['a', 'a'] }, 'spec.tags[1]: Duplicate value: "a"'],
      [{ tags: ['a', 'b', 'c', 'd'] }, 'spec.tags: Too many: 4: must have at most 3 items'],
      [{ parts: [{ name: 'x' }, { name: 'x' }] }, 'spec.parts[1]: Duplicate value: {"name":"x"}'],
      [{ parts: [{ weight: 1 }] }, 'spec.parts[0].name: Required value'],
      [
        { amount: true },
        'spec.amount: Invalid value: "boolean": spec.amount in body must be of type integer,string: "boolean"',
      ],
      [{ replicas: 9 }, 'spec: Invalid value: replicas must not exceed max'],
    ])('%j is Invalid and says why', async (spec, expected) => {
      const { body } = await api().send('POST', path, { body: gadget('bad', spec) });
      expect(body.code).toBe(422);
      expect(body.message).toContain(expected);
    });

    test('a rule on the old value stops the change, at the field it names', async () => {
      await api().send('POST', path, { body: gadget('fixed', {}) });
      const { body } = await api().send('PATCH', `${path}/fixed`, { type: merge, body: { spec: { size: 'large' } } });
      expect(body.message).toContain('spec.size: Invalid value: size is immutable');
    });

    test('spec and status are written apart', async () => {
      await api().send('POST', path, { body: { ...gadget('split', {}), status: { ready: true } } });
      expect((await api().send('GET', `${path}/split`)).body.status).toBeUndefined();
      const status = await api().send('PATCH', `${path}/split/status`, {
        type: merge,
        body: { status: { ready: true }, spec: { replicas: 3 } },
      });
      expect(status.body.status).toEqual({ ready: true });
      expect(status.body.spec.replicas).toBeUndefined();
      expect(status.body.metadata.generation).toBe(1);
      const spec = await api().send('PATCH', `${path}/split`, {
        type: merge,
        body: { spec: { replicas: 3 }, status: { ready: false } },
      });
      expect(spec.body.status).toEqual({ ready: true });
      expect(spec.body.metadata.generation).toBe(2);
    });

    test('the scale subresource follows the paths of the definition', async () => {
      await api().send('POST', path, { body: gadget('scaled', { replicas: 1 }) });
      const scale = await api().send('GET', `${path}/scaled/scale`);
      expect(scale.body).toMatchObject({ kind: 'Scale', spec: { replicas: 1 } });
      await api().send('PATCH', `${path}/scaled/scale`, { type: merge, body: { spec: { replicas: 2 } } });
      expect((await api().send('GET', `${path}/scaled`)).body.spec.replicas).toBe(2);
    });

    test('lists, tables and selectable fields are served', async () => {
      await api().send('POST', path, { body: gadget('big', { size: 'large' }) });
      const list = await api().send('GET', `${path}?fieldSelector=spec.size%3Dlarge`);
      expect(list.body).toMatchObject({ kind: 'GadgetList', apiVersion: 'contract.example/v1' });
      expect(list.body.items.map((item: { kind: string }) => item.kind)).toEqual(['Gadget']);
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = await api().send('GET', `${path}/big`, { accept });
      expect(table.body.columnDefinitions.map((column: { name: string }) => column.name)).toEqual([
        'Name',
        'Size',
        'Ready',
      ]);
      expect(table.body.rows[0].cells).toEqual(['big', 'large', null]);
    });

    test('a strategic merge patch is not supported', async () => {
      const type = 'application/strategic-merge-patch+json';
      expect((await api().send('PATCH', `${path}/a`, { type, body: {} })).status).toBe(415);
    });

    test('an update may leave alone what was wrong before', async () => {
      await api().send('POST', path, { body: gadget('old', { code: 'abc' }) });
      const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.contract.example';
      const code = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/code/pattern';
      const type = 'application/json-patch+json';
      await api().send('PATCH', definitions, { type, body: [{ op: 'replace', path: code, value: '^x+$' }] });
      const probe = gadget('probe', { code: 'abc' });
      await eventually(
        () => api().send('POST', `${path}?dryRun=All`, { body: probe }),
        ({ status }) => status === 422,
      );
      const label = { metadata: { labels: { x: 'y' } } };
      expect((await api().send('PATCH', `${path}/old`, { type: merge, body: label })).status).toBe(200);
      await api().send('PATCH', definitions, { type, body: [{ op: 'replace', path: code, value: '^[a-z]+$' }] });
    });

    test('discovery and OpenAPI tell of them', async () => {
      const { body } = await api().send('GET', '/apis/contract.example/v1');
      const names = body.resources.map((resource: { name: string }) => resource.name);
      expect(names.toSorted()).toEqual(['gadgets', 'gadgets/scale', 'gadgets/status']);
      const document = await eventually(
        () => api().send('GET', '/openapi/v3/apis/contract.example/v1'),
        ({ status }) => status === 200,
      );
      expect(document.body.components.schemas['example.contract.v1.Gadget'].properties.spec.required).toEqual(['size']);
    });
  });
}
