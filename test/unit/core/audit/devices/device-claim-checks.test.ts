import { describe, expect, test } from 'vitest';
import type {
  CapacityRequestPolicy,
  DeviceConstraint,
  DeviceRequest,
  ExactDeviceRequest,
  PublishedDevice,
} from '../../../../../shared/kubernetes/device-manifest.ts';
import { checkAllocated, shareOf } from '../../../../../shared/core/audit/devices/device-claim-checks.ts';
import type { AuditedDevice } from '../../../../../shared/core/audit/devices/published-devices.ts';
import { input } from '../../../../kit/core/build.ts';
import { deviceClass, driver, planned, request, sliceSpec } from '../../../../kit/core/build-devices.ts';

const given = input({ devices: planned(), deviceClasses: [deviceClass()] });

function device(name: string, published: Partial<PublishedDevice> = {}): AuditedDevice {
  const own = { name, ...published };
  return { id: `${driver}/n/${name}`, driver, published: own, slice: sliceSpec('n', [own]), counters: new Map() };
}

/** What is wrong with giving these devices, each to its request; `reached`: what else there is. */
function problems(
  requests: ReadonlyArray<DeviceRequest>,
  devices: ReadonlyArray<readonly [string, AuditedDevice]>,
  {
    constraints = [],
    reached = [],
  }: { constraints?: ReadonlyArray<DeviceConstraint>; reached?: ReadonlyArray<AuditedDevice> } = {},
): ReadonlyArray<string> {
  const list = devices.map(([asked, one]) => ({ request: asked, device: one }));
  return checkAllocated({ devices: { requests, constraints } }, list, reached, given);
}

describe('a request with alternatives', () => {
  const either: DeviceRequest = {
    name: 'gpu',
    firstAvailable: [
      { name: 'two', deviceClassName: 'gpu', count: 2 },
      { name: 'one', deviceClassName: 'gpu' },
    ],
  };

  test('is met in one of them', () => {
    expect(problems([either], [['gpu/one', device('a')]])).toEqual([]);
    expect(
      problems(
        [either],
        [
          ['gpu/two', device('a')],
          ['gpu/two', device('b')],
        ],
      ),
    ).toEqual([]);
    expect(problems([either], [['gpu/two', device('a')]])).toEqual(['request gpu/two gets 1 devices']);
  });

  test('is not met in two of them, in none, or in one that it does not have', () => {
    const several = ['request gpu is met in several ways or in none'];
    expect(
      problems(
        [either],
        [
          ['gpu/one', device('a')],
          ['gpu/two', device('b')],
          ['gpu/two', device('c')],
        ],
      ),
    ).toEqual(several);
    expect(problems([either], [])).toEqual(several);
    expect(problems([either], [['gpu/three', device('a')]])).toEqual(several);
  });
});

test('a request is not met by devices of one whose name begins alike', () => {
  expect(
    problems(
      [request('gpu'), request('gpu2')],
      [
        ['gpu', device('a')],
        ['gpu2', device('b')],
      ],
    ),
  ).toEqual([]);
});

describe('a request for all', () => {
  const all = [request('gpu', { allocationMode: 'All' })];

  test('has every device that it could have', () => {
    const both = [device('a'), device('b')];
    expect(
      problems(
        all,
        both.map((one) => ['gpu', one] as const),
        { reached: both },
      ),
    ).toEqual([]);
    expect(problems(all, [['gpu', device('a')]], { reached: both })).toEqual(['request gpu gets 1 devices']);
    expect(problems(all, [], { reached: [] })).toEqual(['request gpu gets 0 devices']);
  });

  test('needs none that its class does not select, that has no such share, or that others may share', () => {
    const foreign = { ...device('b'), driver: 'other' };
    expect(problems(all, [['gpu', device('a')]], { reached: [device('a'), foreign] })).toEqual([]);
    expect(
      problems(all, [['gpu', device('a')]], {
        reached: [device('a'), device('b', { allowMultipleAllocations: true })],
      }),
    ).toEqual([]);
    const large = [request('gpu', { allocationMode: 'All', capacity: { requests: { memory: '8Gi' } } })];
    const [big, tiny] = [
      device('a', { capacity: { memory: { value: '8Gi' } } }),
      device('b', { capacity: { memory: { value: '4Gi' } } }),
    ];
    expect(problems(large, [['gpu', big]], { reached: [big, tiny] })).toEqual([]);
  });
});

describe('a constraint', () => {
  const kinds = (...values: ReadonlyArray<string | null>) =>
    values.map((kind, at) =>
      device(
        `d${at}`,
        kind === null ? {} : { attributes: { kind: { string: kind }, 'other.com/kind': { string: 'x' } } },
      ),
    );
  const holds = (constraint: DeviceConstraint, devices: ReadonlyArray<AuditedDevice>, names = ['a', 'b']): boolean =>
    problems(
      names.map((name) => request(name)),
      devices.map((one, at) => [names[at] ?? '', one] as const),
      { constraints: [constraint] },
    ).length === 0;
  const same = { matchAttribute: `${driver}/kind` };
  const apart = { distinctAttribute: `${driver}/kind` };

  test('on one value for all holds where all have it', () => {
    expect(holds(same, kinds('x', 'x'))).toBe(true);
    expect(holds(same, kinds('x', 'y'))).toBe(false);
    expect(holds(same, kinds('x', null))).toBe(false);
    expect(holds(same, kinds(null, null))).toBe(false);
  });

  test('on different values holds where each has its own', () => {
    expect(holds(apart, kinds('x', 'y'))).toBe(true);
    expect(holds(apart, kinds('x', 'x'))).toBe(false);
    expect(holds(apart, kinds('x', null))).toBe(false);
  });

  test('is about the requests that it names, and about the alternatives of these', () => {
    expect(holds({ ...same, requests: ['a'] }, kinds('x', 'y'))).toBe(true);
    expect(holds({ ...same, requests: ['a', 'b'] }, kinds('x', 'y'))).toBe(false);
    expect(holds({ ...same, requests: [] }, kinds('x', 'y'))).toBe(false);
    const one = (name: string): DeviceRequest => ({ name, firstAvailable: [{ name: 'z', deviceClassName: 'gpu' }] });
    const [first, second] = kinds('x', 'y');
    if (first === undefined || second === undefined) throw new Error('two');
    const both = [
      ['a/z', first],
      ['b/z', second],
    ] as const;
    const found = [`the constraint on ${driver}/kind does not hold`];
    expect(problems([one('a'), one('b')], both, { constraints: [{ ...same, requests: ['a', 'b'] }] })).toEqual(found);
    expect(problems([one('a'), one('b')], both, { constraints: [{ ...same, requests: ['a/z', 'b/z'] }] })).toEqual(
      found,
    );
    expect(problems([one('a'), one('b')], both, { constraints: [{ ...same, requests: ['a'] }] })).toEqual([]);
  });

  test('on an attribute of another vendor is not met by the driver’s own of that name', () => {
    expect(holds({ matchAttribute: 'other.com/kind' }, kinds('x', 'y'))).toBe(true);
    expect(holds({ matchAttribute: 'third.com/kind' }, kinds('x', 'x'))).toBe(false);
  });

  test('reads lists value by value, and tells a text from a number', () => {
    const of = (attribute: object, at: number) => device(`l${at}`, { attributes: { kind: attribute } });
    expect(holds(same, [of({ strings: ['x', 'y'] }, 0), of({ strings: ['y', 'z'] }, 1)])).toBe(true);
    expect(holds(apart, [of({ strings: ['x', 'x'] }, 0), of({ strings: ['y'] }, 1)])).toBe(true);
    expect(holds(apart, [of({ strings: ['x', 'y'] }, 0), of({ strings: ['y'] }, 1)])).toBe(false);
    expect(holds(same, [of({ string: 'x' }, 0), of({ strings: ['x'] }, 1)])).toBe(true);
    expect(holds(same, [of({ string: '1' }, 0), of({ int: 1 }, 1)])).toBe(false);
  });
});

describe('the share of a device', () => {
  const shareFor = (wanted: string | null, requestPolicy?: CapacityRequestPolicy, value = '10'): number | null => {
    const capacity = { memory: { value, ...(requestPolicy === undefined ? {} : { requestPolicy }) } };
    const asked = {
      deviceClassName: 'gpu',
      ...(wanted === null ? {} : { capacity: { requests: { memory: wanted } } }),
    };
    const share = shareOf(device('a', { capacity }), asked)?.get('memory');
    return share === undefined ? null : share / 1000;
  };

  test.each<readonly [string, string | null, CapacityRequestPolicy | undefined, number | null]>([
    ['is all of it where nothing is asked', null, undefined, 10],
    ['is what is asked where no rule is given', '3', undefined, 3],
    ['is all of it where that is asked', '10', undefined, 10],
    ['is none where more is asked', '11', undefined, null],
    ['is the usual one where nothing is asked', null, { default: '2' }, 2],
    ['is the usual one where that is asked, though no other rule has it', '2', { default: '2', validValues: ['4'] }, 2],
    ['is the next larger of those that are allowed', '3', { default: '1', validValues: ['8', '4', '2'] }, 4],
    ['is one of those that are allowed', '4', { default: '1', validValues: ['8', '4', '2'] }, 4],
    ['is none above those that are allowed', '9', { default: '1', validValues: ['8', '4'] }, null],
    ['is at least the least of the range', '1', { validRange: { min: '2' } }, 2],
    ['is what is asked within the range', '3', { validRange: { min: '2', max: '4' } }, 3],
    ['is up to the most of the range', '4', { validRange: { min: '2', max: '4' } }, 4],
    ['is none above the range', '5', { validRange: { min: '2', max: '4' } }, null],
    ['goes up by steps from the least', '4', { validRange: { min: '1', max: '9', step: '2' } }, 5],
    ['is on a step of three already', '4', { validRange: { min: '1', max: '9', step: '3' } }, 4],
    ['is on a step already', '5', { validRange: { min: '1', max: '9', step: '2' } }, 5],
    ['is none where the next step is above the range', '8', { validRange: { min: '1', max: '8', step: '2' } }, null],
    ['goes up by steps from nothing', '3', { validRange: { step: '2' } }, 4],
  ])('%s', (_, wanted, policy, share) => {
    expect(shareFor(wanted, policy)).toBe(share);
  });

  test('is none of what the device does not have', () => {
    expect(shareOf(device('a'), { deviceClassName: 'gpu', capacity: { requests: { memory: '1' } } })).toBeNull();
    expect(shareOf(device('a'), { deviceClassName: 'gpu' })).toEqual(new Map());
  });
});

describe('a device with taints', () => {
  const tolerated = (taint: object, ...tolerations: NonNullable<ExactDeviceRequest['tolerations']>): boolean => {
    const taints = [{ key: 'bad', effect: 'NoSchedule', ...taint }];
    return problems([request('gpu', { tolerations })], [['gpu', device('a', { taints })]]).length === 0;
  };

  test('is for those who tolerate one by its key, its value and its effect', () => {
    expect(tolerated({})).toBe(false);
    expect(tolerated({}, { key: 'other' }, { key: 'bad' })).toBe(true);
    expect(tolerated({ value: 'x' }, { key: 'bad' })).toBe(false);
    expect(tolerated({ value: 'x' }, { key: 'bad', value: 'x' })).toBe(true);
    expect(tolerated({ value: 'x' }, { key: 'bad', operator: 'Exists' })).toBe(true);
    expect(tolerated({ value: 'x' }, { value: 'x' })).toBe(false);
    expect(tolerated({ value: 'x' }, { operator: 'Exists' })).toBe(true);
    expect(tolerated({}, { key: 'bad', effect: 'NoExecute' })).toBe(false);
    expect(tolerated({}, { key: 'bad', effect: 'NoSchedule' })).toBe(true);
  });

  test('is for everybody where they keep nobody away', () => {
    expect(tolerated({ effect: 'None' })).toBe(true);
    expect(tolerated({ effect: 'NoExecute' })).toBe(false);
  });
});

test('a device is selected by what can be read and is true of it', () => {
  const selecting = (...selectors: ReadonlyArray<object>) =>
    problems([request('gpu', { selectors })], [['gpu', device('a')]]);
  const refused = [`request gpu does not select ${driver}/n/a`];
  expect(selecting({ cel: { expression: 'true' } })).toEqual([]);
  expect(selecting({ cel: { expression: 'not CEL (' } })).toEqual(refused);
  expect(selecting({})).toEqual(refused);
});

test('a class that says nothing selects every device', () => {
  const bare = input({ devices: planned(), deviceClasses: [{ metadata: { name: 'gpu' } }] });
  const own = { ...device('a'), driver: 'other' };
  expect(
    checkAllocated({ devices: { requests: [request('gpu')] } }, [{ request: 'gpu', device: own }], [], bare),
  ).toEqual([]);
});
