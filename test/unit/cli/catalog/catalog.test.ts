import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Check } from 'typebox/schema';
import { afterAll, describe, expect, test } from 'vitest';
import { Catalog } from '../../../../cli/catalog/catalog-format.ts';
import { readCatalog } from '../../../../cli/catalog/read-catalog.ts';
import { planDocument, planManifests, pool, workload } from '../../../kit/cli/plan-manifests.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodewright-catalog-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const small = {
  apiVersion: 'nodewright.dev/v1alpha1',
  kind: 'Catalog',
  region: 'moon',
  instanceTypes: [
    {
      name: 'Crater_4',
      labels: { 'kubernetes.io/arch': 'amd64', 'karpenter.azure.com/sku-family': 'D' },
      capacity: { cpu: '4', memory: '16Gi', pods: '250' },
      overhead: { cpu: '140m', memory: '2Gi' },
      offerings: [
        { zone: 'moon-1', capacityType: 'on-demand', pricePerHour: '0.23', available: true },
        { zone: 'moon-2', capacityType: 'spot', pricePerHour: '0.0000011' },
      ],
    },
  ],
};

function write(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** A copy with the value at a path replaced. */
function changed(path: ReadonlyArray<string | number>, value: unknown): unknown {
  const copy = structuredClone(small) as unknown;
  const parent = path.slice(0, -1).reduce((at, key) => (at as Record<string, unknown>)[key], copy) as Record<
    string,
    unknown
  >;
  parent[path.at(-1) ?? ''] = value;
  return copy;
}

function slices(count: number) {
  const devices = Array.from({ length: count }, (_, index) => ({
    name: `gpu-${index}`,
    attributes: { model: { string: 'a100' } },
  }));
  return [{ driver: 'gpu.example.com', devices }];
}

const deviceManifests = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: { name: gpu }
spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] }
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: { name: one, namespace: default }
spec: { spec: { devices: { requests: [{ name: gpu, exactly: { deviceClassName: gpu } }] } } }
`;

function askingPod(number: number): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: asking-${number}, namespace: default }
spec:
  resourceClaims: [{ name: gpu, resourceClaimTemplateName: one }]
  containers: [{ name: main, image: x, resources: { requests: { cpu: 500m, memory: 512Mi } } }]
`;
}

function reservedOffering(reservationId: string, reservationCapacity: number) {
  return { zone: 'moon-1', capacityType: 'reserved', pricePerHour: '0', reservationId, reservationCapacity };
}

describe('a catalog of the user', () => {
  test('gives instance types with zone, capacity type, region and exact price', async () => {
    const { region, instanceTypes } = await readCatalog(write('small.json', small));
    expect(region).toBe('moon');
    expect(instanceTypes).toMatchObject([
      {
        name: 'Crater_4',
        labels: { 'node.kubernetes.io/instance-type': ['Crater_4'], 'topology.kubernetes.io/region': ['moon'] },
        overhead: { cpu: '140m' },
        offerings: [
          { zone: 'moon-1', capacityType: 'on-demand', price: 230_000, available: true },
          { zone: 'moon-2', capacityType: 'spot', price: 2, available: true },
        ],
      },
    ]);
  });

  test('decides the plan: size, zone, price, and what is left beside the overhead', async () => {
    const catalog = write('plan.json', small);
    const fits = await planDocument([pool, workload('Deployment', 'web', 1, '{ cpu: 3860m, memory: 14Gi }')], {
      catalog,
    });
    expect(fits.nodeClaims).toMatchObject([
      { instanceType: 'Crater_4', zone: 'moon-1', capacityType: 'on-demand', pricePerHour: '0.23', runnerUp: null },
    ]);
    const tooBig = await planDocument([pool, workload('Deployment', 'web', 1, '{ cpu: 3861m }')], { catalog });
    expect(tooBig.summary.pods.left).toBe(1);
  });

  test('may be YAML', async () => {
    const text = 'apiVersion: nodewright.dev/v1alpha1\nkind: Catalog\nregion: moon\ninstanceTypes: []\n';
    expect(await readCatalog(write('c.yaml', text))).toEqual({
      region: 'moon',
      currency: 'USD',
      instanceTypes: [],
      resourceSlices: new Map(),
    });
  });

  test('may have offerings of reservations', async () => {
    const reserved = { zone: 'moon-1', capacityType: 'reserved', pricePerHour: '0' };
    const given = { ...reserved, reservationId: 'r', reservationCapacity: 2 };
    const text = JSON.stringify(changed(['instanceTypes', 0, 'offerings', 0], given));
    const schema = JSON.parse(readFileSync('docs/schema/catalog.schema.json', 'utf8')) as object;
    expect(Check(schema as never, JSON.parse(text))).toBe(true);
    const { instanceTypes } = await readCatalog(write('reserved.json', text));
    expect(instanceTypes[0]?.offerings[0]).toMatchObject({
      capacityType: 'reserved',
      price: 0,
      reservation: { id: 'r', remaining: 2 },
    });
  });

  test('may say which devices nodes publish, and a pod that asks for one is planned onto such a node', async () => {
    const file = changed(['instanceTypes', 0, 'resourceSlices'], slices(2));
    const schema = JSON.parse(readFileSync('docs/schema/catalog.schema.json', 'utf8')) as object;
    expect(Check(schema as never, file)).toBe(true);
    const catalog = write('devices.json', file);
    const asking = [pool, deviceManifests, [1, 2, 3].map(askingPod).join('\n---\n')];
    const plan = await planDocument(asking, { catalog });
    expect(plan.summary.pods.left).toBe(0);
    expect(plan.nodeClaims).toHaveLength(2);
    const without = await planDocument(asking, { catalog: write('none.json', small) });
    expect(without.summary.pods.left).toBe(3);
  });

  test('counts less than what a NodePool states of its own nodes', async () => {
    const catalog = write('two.json', changed(['instanceTypes', 0, 'resourceSlices'], slices(2)));
    const stated = JSON.stringify({ Crater_4: slices(1) });
    const stating = pool.replace(
      'metadata: { name: general }',
      `metadata: { name: general, annotations: { nodewright.dev/resource-slices: '${stated}' } }`,
    );
    const plan = await planDocument([stating, deviceManifests, askingPod(1), askingPod(2)], { catalog });
    expect(plan.nodeClaims).toHaveLength(2);
  });

  test.each<readonly [string, ReadonlyArray<string | number>, unknown, string]>([
    [
      'a slice that says where it is',
      ['instanceTypes', 0, 'resourceSlices'],
      [{ driver: 'd', nodeName: 'x', devices: [] }],
      'instanceTypes[0].resourceSlices[0].nodeName: says where a device is, which a node to come cannot (remove it)',
    ],
    [
      'a price that is a number',
      ['instanceTypes', 0, 'offerings', 0, 'pricePerHour'],
      0.23,
      'instanceTypes[0].offerings[0].pricePerHour: 0.23 is not a price (write an amount per hour in quotes, such as "0.23")',
    ],
    [
      'another capacity type',
      ['instanceTypes', 0, 'offerings', 0, 'capacityType'],
      'dedicated',
      'instanceTypes[0].offerings[0].capacityType: "dedicated" is not a choice here (use one of on-demand, spot, reserved)',
    ],
    [
      'a reserved offering that is of no reservation',
      ['instanceTypes', 0, 'offerings', 0],
      { zone: 'moon-1', capacityType: 'reserved', pricePerHour: '0', reservationCapacity: 2 },
      'instanceTypes[0].offerings[0].reservationId: is missing (set it, or use another capacityType)',
    ],
    [
      'a reservation of another capacity type',
      ['instanceTypes', 0, 'offerings', 0, 'reservationId'],
      'r',
      'instanceTypes[0].offerings[0].reservationId: is for reserved offerings (remove it, or use capacityType reserved)',
    ],
    [
      'a reservation of two capacities',
      ['instanceTypes', 0, 'offerings'],
      [1, 2].map((capacity) => reservedOffering('r', capacity)),
      'instanceTypes[0].offerings[1].reservationCapacity: is 2, and 1 elsewhere for "r" (give one number per reservation)',
    ],
    [
      'a number of reservations that plans cannot tell apart',
      ['instanceTypes', 0, 'offerings'],
      Array.from({ length: 32 }, (_, index) => reservedOffering(`r-${index}`, 1)),
      'instanceTypes: 32 combinations of zone, capacity type and reservation, and at most 31 are planned with (leave out zones or reservations that no pool here may use)',
    ],
    ...['0,5', '', 0.5, 'often'].map((value): readonly [string, ReadonlyArray<string | number>, unknown, string] => [
      `a chance of evictions that is ${JSON.stringify(value)}`,
      ['instanceTypes', 0, 'offerings', 1, 'evictionsPerHour'],
      value,
      `instanceTypes[0].offerings[1].evictionsPerHour: ${JSON.stringify(value)} is not a chance (write a chance from 0 to 1 in quotes, such as "0.075")`,
    ]),
    [
      'a chance of evictions below 0',
      ['instanceTypes', 0, 'offerings', 1, 'evictionsPerHour'],
      '-0.1',
      'instanceTypes[0].offerings[1].evictionsPerHour: "-0.1" is below 0 (write a chance from 0 to 1 in quotes, such as "0.075")',
    ],
    [
      'a chance of evictions above 1',
      ['instanceTypes', 0, 'offerings', 1, 'evictionsPerHour'],
      '7.5',
      'instanceTypes[0].offerings[1].evictionsPerHour: "7.5" is above 1 (write a chance from 0 to 1 in quotes, such as "0.075")',
    ],
    [
      'evictions of what is not spot',
      ['instanceTypes', 0, 'offerings', 0, 'evictionsPerHour'],
      '0.075',
      'instanceTypes[0].offerings[0].evictionsPerHour: is for spot offerings (remove it, or use capacityType spot)',
    ],
    [
      'a missing zone',
      ['instanceTypes', 0, 'offerings', 1, 'zone'],
      undefined,
      'instanceTypes[0].offerings[1].zone: is missing (set it)',
    ],
    [
      'capacity that is no quantity',
      ['instanceTypes', 0, 'capacity', 'cpu'],
      'four',
      'instanceTypes[0].capacity[cpu]: "four" is not a quantity (write a quantity such as 100m, 4, 1.5 or 16Gi)',
    ],
    [
      'another version',
      ['apiVersion'],
      'nodewright.dev/v2',
      'apiVersion: "nodewright.dev/v2" is not a choice here (use one of nodewright.dev/v1alpha1)',
    ],
    [
      'a currency in words',
      ['currency'],
      'euro',
      'currency: "euro" is not a currency (write three capital letters, such as EUR)',
    ],
    [
      'a name twice',
      ['instanceTypes'],
      [small.instanceTypes[0], small.instanceTypes[0]],
      'instanceTypes[1].name: Crater_4 is listed twice (keep one, with all its offerings)',
    ],
  ])('%s is refused with its field and the fix', async (_, path, value, message) => {
    const file = write('wrong.json', changed(path, value));
    await expect(readCatalog(file)).rejects.toThrow(`${file}: Catalog: ${message}`);
  });

  test('what the reader takes and refuses, the schema does too', async () => {
    const schema = JSON.parse(readFileSync('docs/schema/catalog.schema.json', 'utf8')) as object;
    expect(Check(schema as never, small)).toBe(true);
    expect(Check(Catalog, small)).toBe(true);
    const wrongs = [
      changed(['kind'], 'Plan'),
      changed(['region'], undefined),
      changed(['currency'], 'euro'),
      changed(['instanceTypes', 0, 'capacity'], undefined),
      changed(['instanceTypes', 0, 'offerings', 0, 'pricePerHour'], '-1'),
      changed(['instanceTypes', 0, 'offerings', 0, 'capacityType'], 'reserved'),
      changed(['instanceTypes', 0, 'offerings', 0, 'available'], 'yes'),
      changed(['instanceTypes', 0, 'offerings', 1, 'evictionsPerHour'], 0.5),
      changed(['instanceTypes', 0, 'offerings', 1, 'evictionsPerHour'], '1.5'),
    ].map((wrong) => JSON.parse(JSON.stringify(wrong)) as unknown);
    for (const wrong of wrongs) {
      expect(Check(schema as never, wrong)).toBe(false);
      await expect(readCatalog(write('judged.json', wrong))).rejects.toThrow('Catalog');
    }
  });

  test('a region beside it must be its own', async () => {
    const plan = planDocument(pool, { catalog: write('region.json', small), region: 'eastus' });
    await expect(plan).rejects.toThrow('--region: is eastus, and the catalog');
  });
});

describe('a catalog that says how often spot machines are evicted', () => {
  const offering = (pricePerHour: string, evictionsPerHour: string) => [
    { zone: 'moon-1', capacityType: 'spot', pricePerHour, evictionsPerHour },
  ];
  const [crater] = small.instanceTypes;
  const file = {
    ...small,
    instanceTypes: [
      { ...crater, name: 'Crater_4', offerings: offering('0.05', '0.225') },
      { ...crater, name: 'Dome_4', offerings: offering('0.052', '0.025') },
    ],
  };
  const spot = (annotations: string): string =>
    pool
      .replace('values: [on-demand]', 'values: [spot]')
      .replace('{ name: general }', `{ name: general, annotations: { ${annotations} } }`);
  const given = (annotations = ''): ReadonlyArray<string> => [spot(annotations), workload('Deployment', 'web', 1)];

  test('obeys its schema, and plans say what their offerings count as', async () => {
    const schema = JSON.parse(readFileSync('docs/schema/catalog.schema.json', 'utf8')) as object;
    expect(Check(schema as never, file)).toBe(true);
    const document = await planDocument(given(), { catalog: write('rates.json', file) });
    const { nodeClaims, summary } = document;
    const planSchema = JSON.parse(readFileSync('docs/schema/plan.schema.json', 'utf8')) as object;
    const { notes: _, exitCode: __, ...plan } = document;
    expect(Check(planSchema as never, plan)).toBe(true);
    expect(nodeClaims).toMatchObject([
      {
        instanceType: 'Dome_4',
        pricePerHour: '0.052',
        evictionsPerHour: '0.025',
        weighedPricePerHour: '0.05265',
        runnerUp: { instanceType: 'Crater_4', pricePerHour: '0.05', morePerHour: '0.002975' },
        cheaper: [
          {
            reason: {
              kind: 'eviction-risk',
              evictionsPerHour: '0.225',
              weighedPricePerHour: '0.055625',
              chosenWeighedPricePerHour: '0.05265',
            },
          },
        ],
      },
    ]);
    expect(summary).toMatchObject({
      costPerHour: '0.052',
      lowerBoundPerHour: '0.05',
      gap: 0.04,
      weighed: { costPerHour: '0.05265', lowerBoundPerHour: '0.05265', gap: 0 },
    });
  });

  test('is told in its own currency, wherever there is an amount', async () => {
    const euros = { catalog: write('euros.json', { ...file, currency: 'EUR' }) };
    const { text } = await planManifests(given(), { ...euros, output: 'table' });
    expect(text).not.toContain('$');
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain(' EUR/HOUR ');
    expect(words).toContain(
      'Dome_4 spot at EUR 0.052 (EUR 0.05265 with risk) for 1 pod; next is Crater_4 spot, which at EUR 0.05',
    );
    expect(words).toContain('so that it counts as EUR 0.055625, and the choice as EUR 0.05265');
    expect(words).toContain('New nodes cost EUR 0.052 per hour, EUR 37.96 per month');
    expect(words).toContain('No plan for these pods costs less than EUR 0.05:');
    expect(words).toContain('it counts as EUR 0.05265 per hour');
    const { summary, nodeClaims } = await planDocument(given(), euros);
    expect(summary.currency).toBe('EUR');
    expect(JSON.stringify(nodeClaims)).toContain('counts as EUR 0.055625');
  });

  test('is told in plain words', async () => {
    const { text } = await planManifests(given(), { catalog: write('rates.json', file), output: 'table' });
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toContain(
      'Dome_4 spot at $0.052 ($0.05265 with risk) for 1 pod; next is Crater_4 spot, which at $0.05 ($0.055625 with risk) counts as $0.002975 more',
    );
    expect(words).toContain('this one is at most 4.00 % above the cheapest.');
    expect(words).toContain(
      'It was chosen by price and risk: with what evictions cost it counts as $0.05265 per hour; no plan counts as less: this is proved.',
    );
  });

  test('gives way to a NodePool that lets price alone decide', async () => {
    const free = given("nodewright.dev/eviction-cost: '0s'");
    const { nodeClaims, summary } = await planDocument(free, { catalog: write('rates.json', file) });
    expect(nodeClaims).toMatchObject([{ instanceType: 'Crater_4', pricePerHour: '0.05' }]);
    expect(nodeClaims[0]).not.toHaveProperty('weighedPricePerHour');
    expect(summary).not.toHaveProperty('weighed');
  });

  test('does not help a NodePool whose cost of evictions cannot be read: it is refused with its field and the fix', async () => {
    const wrong = planDocument(given('nodewright.dev/eviction-cost: soon'), { catalog: write('rates.json', file) });
    await expect(wrong).rejects.toThrow(
      'NodePool general: metadata.annotations[nodewright.dev/eviction-cost]: "soon" is not a duration (write a duration of up to 24h',
    );
  });
});
