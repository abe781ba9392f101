import { describe, expect, test } from 'vitest';
import type { InstanceType } from '../../../../shared/core/model/catalog.ts';
import type { Requirement } from '../../../../shared/kubernetes/manifest.ts';
import { pool, requirement, size } from '../../../kit/core/build.ts';
import {
  ARM,
  D2,
  D4,
  D8,
  GPU,
  key,
  offering,
  onDemand,
  pod,
  poolWith,
  requires,
  schedule,
  valuesOf,
  z1,
  z2,
  z3,
} from '../kit/kit.ts';

/** Karpenter's scenarios of section B: instance selection and minValues. */

const anyCapacity = pool('default', { requirements: [] });
const ARM4 = size('Standard_D4ps_v5', 4, 16, 150_000, { labels: { ...ARM.labels, [key.cpu]: ['4'] } });
const WINDOWS = size('Standard_D2s_win', 2, 8, 90_000, { labels: { ...D2.labels, [key.os]: ['windows'] } });
/** Cheapest in the third zone only, and spot in the second only. */
const UNEVEN = size('Standard_D4as_v5', 4, 16, 0, {
  offerings: [offering(z1, 'on-demand', 300_000), offering(z2, 'spot', 60_000), offering(z3, 'on-demand', 10_000)],
});
const MANY: ReadonlyArray<InstanceType> = [D2, D4, D8, ARM, ARM4, WINDOWS, UNEVEN];
const is = (name: string, ...values: ReadonlyArray<string>) => requirement(name, 'In', ...values);

/** The least that any available offering that meets every expression costs, found by looking at each. */
function least(types: ReadonlyArray<InstanceType>, expressions: ReadonlyArray<Requirement>): number {
  const prices = types.flatMap((type) =>
    type.offerings
      .filter(({ zone, capacityType }) =>
        expressions.every(({ key: name, values = [] }) => {
          const own = { [key.zone]: [zone], [key.capacityType]: [capacityType], [key.type]: [type.name] };
          return ({ ...type.labels, ...own }[name] ?? []).some((value) => values.includes(value));
        }),
      )
      .map(({ price }) => price),
  );
  return Math.min(...prices);
}

const CONSTRAINTS: ReadonlyArray<readonly [string, ReadonlyArray<Requirement>]> = [
  ['nothing', []],
  ['arm64', [is(key.arch, 'arm64')]],
  ['amd64', [is(key.arch, 'amd64')]],
  ['linux', [is(key.os, 'linux')]],
  ['windows', [is(key.os, 'windows')]],
  ['zone 2', [is(key.zone, z2)]],
  ['zones 1 and 2', [is(key.zone, z1, z2)]],
  ['spot', [is(key.capacityType, 'spot')]],
  ['on demand', [is(key.capacityType, 'on-demand')]],
  ['on demand in zone 1', [is(key.capacityType, 'on-demand'), is(key.zone, z1)]],
  ['spot in zone 1', [is(key.capacityType, 'spot'), is(key.zone, z1)]],
  ['arm64 on demand', [is(key.arch, 'arm64'), is(key.capacityType, 'on-demand')]],
  ['amd64 on demand in zone 3', [is(key.arch, 'amd64'), is(key.capacityType, 'on-demand'), is(key.zone, z3)]],
  ['windows spot in zone 2', [is(key.os, 'windows'), is(key.capacityType, 'spot'), is(key.zone, z2)]],
  ['four cores', [is(key.cpu, '4')]],
  ['four cores on demand in zone 1', [is(key.cpu, '4'), is(key.capacityType, 'on-demand'), is(key.zone, z1)]],
];

describe('the cheapest that will do', () => {
  test.each(CONSTRAINTS)('is launched when the pod asks for %s [B01]', (_, expressions) => {
    const outcome = schedule({
      types: MANY,
      pools: [anyCapacity],
      pods: [pod('a', requires(...expressions, is(key.os, 'linux', 'windows')))],
    });
    expect(outcome.claimOf('a').offering.price).toBe(least(MANY, expressions));
  });

  test.each(CONSTRAINTS)('is launched when the pool asks for %s [B01]', (_, expressions) => {
    const own = pool('default', { requirements: expressions });
    expect(schedule({ types: MANY, pools: [own], pods: [pod('a')] }).claimOf('a').offering.price).toBe(
      least(MANY, expressions),
    );
  });

  test.each(CONSTRAINTS.slice(1))('is launched when pool and pod ask for parts of %s [B01]', (_, expressions) => {
    const own = pool('default', { requirements: expressions.slice(0, 1) });
    const outcome = schedule({
      types: MANY,
      pools: [own],
      pods: [pod('a', expressions.length > 1 ? requires(...expressions.slice(1)) : {})],
    });
    expect(outcome.claimOf('a').offering.price).toBe(least(MANY, expressions));
  });

  test.each([
    ['architecture', [is(key.arch, 'riscv')]],
    ['architecture in that zone', [is(key.arch, 'arm64'), is(key.zone, 'none')]],
    ['operating system with that architecture', [is(key.arch, 'arm64'), is(key.os, 'windows')]],
  ])('where no size has the %s, the pod is left [B02]', (_, expressions) => {
    expect(schedule({ types: MANY, pools: [anyCapacity], pods: [pod('a', requires(...expressions))] }).left).toEqual([
      'a',
    ]);
  });

  test('sizes that are too small are not among the choices, and a big pod gets a big one [B03]', () => {
    const outcome = schedule({ pods: [pod('a', { cpu: '3' }), pod('b', { cpu: '7' })] });
    expect(outcome.left).toEqual([]);
    for (const claim of outcome.claims) expect(valuesOf(claim, key.type)).not.toContain('Standard_D2s_v5');
    expect(outcome.claimOf('b').offering.instanceType).toBe('Standard_D8s_v5');
  });

  test('on demand, the price on demand decides and not the one on spot [B04]', () => {
    const dear = size('Standard_D2as_v5', 2, 8, 0, {
      offerings: [offering(z1, 'on-demand', 500_000), offering(z1, 'spot', 1_000)],
    });
    const wants = (capacityType: string) => requires(is(key.capacityType, capacityType));
    const types = [D2, dear];
    const onDemandOnly = schedule({ types, pools: [anyCapacity], pods: [pod('a', wants('on-demand'))] });
    const spotOnly = schedule({ types, pools: [anyCapacity], pods: [pod('a', wants('spot'))] });
    expect(onDemandOnly.claimOf('a').offering.instanceType).toBe('Standard_D2s_v5');
    expect(spotOnly.claimOf('a').offering.instanceType).toBe('Standard_D2as_v5');
  });
});

describe('minValues', () => {
  const atLeast = (count: number, name: string, operator: string, ...values: ReadonlyArray<string>): Requirement => ({
    key: name,
    operator,
    values,
    minValues: count,
  });
  const with_ = (...requirements: ReadonlyArray<Requirement>) =>
    pool('default', { requirements: [onDemand, ...requirements] });

  test.each([
    ['In', atLeast(2, key.type, 'In', 'Standard_D2s_v5', 'Standard_D4s_v5', 'Standard_D8s_v5'), 3],
    ['Exists', atLeast(3, key.type, 'Exists'), 3],
    ['NotIn', atLeast(2, key.type, 'NotIn', 'Standard_D2s_v5'), 2],
    ['Gt', atLeast(2, key.cpu, 'Gt', '2'), 2],
    ['Lt', atLeast(2, key.cpu, 'Lt', '8'), 2],
  ])('on a requirement with %s leaves as many choices [B05]', (_, wanted, types) => {
    const claim = schedule({ pools: [with_(wanted)], pods: [pod('a')] }).claimOf('a');
    expect(valuesOf(claim, key.type)).toHaveLength(types);
    expect(claim.requirements.find((one) => one.key === wanted.key)?.minValues).toBe(wanted.minValues);
  });

  test.each([
    ['In', atLeast(2, key.type, 'In', 'Standard_D2s_v5', 'Standard_None')],
    ['NotIn', atLeast(3, key.type, 'NotIn', 'Standard_D2s_v5')],
    ['Gt', atLeast(3, key.cpu, 'Gt', '2')],
    ['Lt', atLeast(3, key.cpu, 'Lt', '8')],
  ])('that %s cannot meet keeps the pod out [B05]', (_, wanted) => {
    const outcome = schedule({ pools: [with_(wanted)], pods: [pod('a')] });
    expect(outcome.rulesFor('a')).toEqual(['min-values']);
  });

  test('of several on one key the largest counts [B05]', () => {
    const own = with_(atLeast(1, key.type, 'Exists'), atLeast(3, key.type, 'NotIn', 'Standard_D2s_v5'));
    expect(schedule({ pools: [own], pods: [pod('a')] }).left).toEqual(['a']);
  });

  test('a second pod joins a node only while enough choices remain [B05]', () => {
    const own = with_(atLeast(2, key.type, 'Exists'));
    const outcome = schedule({ pools: [own], pods: [pod('a', { cpu: '3' }), pod('b', { cpu: '3' })] });
    expect([outcome.claims.length, outcome.left]).toEqual([2, []]);
  });

  test('all keys with minValues are satisfied at once [B06]', () => {
    const own = with_(atLeast(2, key.type, 'Exists'), atLeast(2, key.family, 'Exists'));
    const E2 = size('Standard_E2s_v5', 2, 16, 130_000);
    expect(schedule({ pools: [own], pods: [pod('a')] }).left).toEqual(['a']);
    const claim = schedule({ types: [D2, D4, E2], pools: [own], pods: [pod('a')] }).claimOf('a');
    expect(valuesOf(claim, key.type)).toContain('Standard_E2s_v5');
  });

  test('a claim that cannot list all its sizes lists those that minValues needs [B06]', () => {
    const cheap = Array.from({ length: 700 }, (_, index) => size(`Standard_D2_${index}`, 2, 8, 100_000 + index));
    const rare = [size('Standard_E2s_v5', 2, 16, 900_000), size('Standard_F2s_v6', 2, 4, 950_000)];
    const own = with_(atLeast(3, key.family, 'Exists'), atLeast(50, key.type, 'Exists'));
    const claim = schedule({ types: [...cheap, ...rare], pools: [own], pods: [pod('a')] }).claimOf('a');
    const listed = valuesOf(claim, key.type);
    expect(listed).toHaveLength(600);
    expect(listed).toEqual(expect.arrayContaining(['Standard_E2s_v5', 'Standard_F2s_v6', 'Standard_D2_0']));
  });

  test('Strict never launches with fewer, BestEffort does and says so [B07]', () => {
    const own = with_(atLeast(3, key.type, 'Exists'));
    const pods = [pod('a', { cpu: '3' })];
    expect(schedule({ pools: [own], pods }).left).toEqual(['a']);
    const claim = schedule({ pools: [own], pods, policy: { minValuesPolicy: 'BestEffort' } }).claimOf('a');
    expect(claim.annotations['karpenter.sh/nodeclaim-min-values-relaxed']).toBe('true');
    expect(claim.requirements.find((one) => one.key === key.type)).toMatchObject({ minValues: 2 });
  });

  test('BestEffort gives up nothing where minValues can be met [B07]', () => {
    const own = with_(atLeast(3, key.type, 'Exists'));
    const claim = schedule({ pools: [own], pods: [pod('a')], policy: { minValuesPolicy: 'BestEffort' } }).claimOf('a');
    expect(claim.annotations['karpenter.sh/nodeclaim-min-values-relaxed']).toBe('false');
    expect(claim.requirements.find((one) => one.key === key.type)).toMatchObject({ minValues: 3 });
  });

  test('BestEffort relaxes in the heavier pool before it turns to a lighter one [B07]', () => {
    const heavy = pool('heavy', { weight: 10, requirements: [onDemand, atLeast(9, key.type, 'Exists')] });
    const pods = [pod('a'), pod('b', { cpu: '7' })];
    const strict = schedule({ pools: [heavy, pool('light')], pods });
    expect(new Set(strict.claims.map(({ nodePool }) => nodePool))).toEqual(new Set(['light']));
    const relaxed = schedule({ pools: [heavy, pool('light')], pods, policy: { minValuesPolicy: 'BestEffort' } });
    expect(new Set(relaxed.claims.map(({ nodePool }) => nodePool))).toEqual(new Set(['heavy']));
  });

  test.each(['Strict', 'BestEffort'] as const)('zones can have minValues too, under %s [B07]', (minValuesPolicy) => {
    const own = with_(atLeast(3, key.zone, 'Exists'));
    const few = size('Standard_D2s_v5', 2, 8, 1, {
      offerings: [offering(z1, 'on-demand', 1), offering(z2, 'on-demand', 1)],
    });
    const outcome = schedule({ types: [few], pools: [own], pods: [pod('a')], policy: { minValuesPolicy } });
    expect(outcome.left).toEqual(minValuesPolicy === 'Strict' ? ['a'] : []);
  });

  test('BestEffort relaxes several keys at once [B07]', () => {
    const own = with_(atLeast(9, key.type, 'Exists'), atLeast(2, key.family, 'Exists'));
    const claim = schedule({ pools: [own], pods: [pod('a')], policy: { minValuesPolicy: 'BestEffort' } }).claimOf('a');
    const least_ = (name: string) => claim.requirements.find((one) => one.key === name)?.minValues;
    expect([least_(key.type), least_(key.family)]).toEqual([3, 1]);
  });
});

describe('nodes of different kinds', () => {
  test.each([
    ['sizes', key.type, 'Standard_D2s_v5', 'Standard_D4s_v5'],
    ['zones', key.zone, z1, z2],
    ['operating systems', key.os, 'linux', 'windows'],
    ['architectures', key.arch, 'amd64', 'arm64'],
  ])('pods that ask for different %s get a node each [B09]', (_, name, one, other) => {
    const outcome = schedule({
      types: MANY,
      pools: [anyCapacity],
      pods: [pod('a', requires(is(name, one))), pod('b', requires(is(name, other)))],
    });
    expect(outcome.claims).toHaveLength(2);
    expect(outcome.left).toEqual([]);
  });

  const FPGA = size('Standard_NP10s', 10, 168, 900_000, {
    capacity: { cpu: 10, memory: '168Gi', pods: 30, 'example.com/fpga': 1 },
  });

  test('a pod that asks for resources that no one size has together is left [B09]', () => {
    const wants = pod('a', { requests: { 'nvidia.com/gpu': '1', 'example.com/fpga': '1' } });
    expect(schedule({ types: [D2, GPU, FPGA], pods: [wants] }).rulesFor('a')).toEqual(['resources-together']);
  });

  test('pods that ask for resources of different sizes get a node each [B09]', () => {
    const pods = [
      pod('a', { requests: { 'nvidia.com/gpu': '1' } }),
      pod('b', { requests: { 'example.com/fpga': '1' } }),
    ];
    const outcome = schedule({ types: [D2, GPU, FPGA], pods });
    expect(outcome.claimOf('a').offering.instanceType).toBe('Standard_NC4as_T4_v3');
    expect(outcome.claimOf('b').offering.instanceType).toBe('Standard_NP10s');
  });

  const NAMED = size('Standard_NC4as_T4_v3', 4, 28, 500_000, {
    labels: { ...GPU.labels, 'karpenter.azure.com/sku-gpu-name': ['T4'] },
  });
  const gpu = 'karpenter.azure.com/sku-gpu-name';

  test.each([
    ['is met by the size that has it', requirement(gpu, 'In', 'T4'), 'Standard_NC4as_T4_v3'],
    ['that must not be there is met by a size without it', requirement(gpu, 'DoesNotExist'), 'Standard_D2s_v5'],
    ['that must only differ is met by a size without it', requirement(gpu, 'NotIn', 'T4'), 'Standard_D2s_v5'],
    ['that must be there is met by the size that has it', requirement(gpu, 'Exists'), 'Standard_NC4as_T4_v3'],
  ])('a label of Azure’s sizes %s [B10]', (_, expression, expected) => {
    expect(
      schedule({ types: [D2, NAMED], pods: [pod('a', requires(expression))] }).claimOf('a').offering.instanceType,
    ).toBe(expected);
  });

  test('a label of Azure’s sizes with a value that none has keeps the pod out [B10]', () => {
    expect(schedule({ types: [D2, NAMED], pods: [pod('a', requires(requirement(gpu, 'In', 'H100')))] }).left).toEqual([
      'a',
    ]);
  });

  test('a size whose offering is not available is not used, and one that is too small is not either [B11]', () => {
    const gone = size('Standard_D16s_v5', 16, 64, 1, { offerings: [offering(z1, 'on-demand', 1, false)] });
    const small = size('Standard_D1s', 1, 4, 1);
    expect(
      schedule({ types: [gone, small, D8], pods: [pod('a', { cpu: '7' })] }).claimOf('a').offering.instanceType,
    ).toBe('Standard_D8s_v5');
    expect(schedule({ types: [gone, small], pods: [pod('a', { cpu: '7' })] }).left).toEqual(['a']);
  });

  test('a capacity that an overlay gives counts on every offering of the sizes it names [B11]', () => {
    const nodeOverlays = [
      {
        metadata: { name: 'more' },
        spec: { requirements: [is(key.type, 'Standard_D4s_v5')], capacity: { 'example.com/fpga': '2' } },
      },
    ];
    const outcome = schedule({
      nodeOverlays,
      pods: [pod('a', { requests: { 'example.com/fpga': '2' } }), pod('b', { requests: { 'example.com/fpga': '3' } })],
    });
    expect(outcome.claimOf('a').offering.instanceType).toBe('Standard_D4s_v5');
    expect(outcome.left).toEqual(['b']);
  });

  test('a pool that names a zone, and a pod that names none, share the pool’s zone [B01]', () => {
    const outcome = schedule({ types: MANY, pools: [poolWith('default', is(key.zone, z3))], pods: [pod('a')] });
    expect(outcome.claimOf('a').offering.zone).toBe(z3);
  });
});
