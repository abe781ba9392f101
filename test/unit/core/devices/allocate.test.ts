import { describe, expect, test } from 'vitest';
import { allocate, TRIES_MAX, type Allocation } from '../../../../shared/core/devices/allocate.ts';
import { compileClaim } from '../../../../shared/core/devices/claims.ts';
import { poolsOf } from '../../../../shared/core/devices/devices.ts';
import { createMatcher } from '../../../../shared/core/devices/selectors.ts';
import type { CompileSelector } from '../../../../shared/core/model/device-selector.ts';
import { copyOf, giveBack, take, unused } from '../../../../shared/core/devices/use.ts';
import type { PublishedDevice, ResourceClaimSpec } from '../../../../shared/kubernetes/device-manifest.ts';
import { driver, gpus, nodeSlice, request } from '../../../kit/core/build-devices.ts';

const all: CompileSelector = () => () => true;
const classes = new Map([['gpu', { metadata: { name: 'gpu' } }]]);

function allocated(spec: ResourceClaimSpec, devices: ReadonlyArray<PublishedDevice>, steps = TRIES_MAX): Allocation {
  const compiled = compileClaim(spec, { classes, compile: all });
  const terms = compiled.kind === 'terms' ? [compiled.terms] : [];
  return allocate(terms, { pools: poolsOf([nodeSlice('a', devices)]), use: unused() }, createMatcher(all), steps);
}

const requests = (count: number) => Array.from({ length: count }, (_, index) => request(`r${index}`));

describe('the search for devices [M06]', () => {
  test('takes the first devices in the order of their slices', () => {
    const outcome = allocated({ devices: { requests: requests(2) } }, gpus(4));
    expect(outcome.kind === 'allocated' && outcome.claims[0]?.map(({ device }) => device.published.name)).toEqual([
      'gpu-0',
      'gpu-1',
    ]);
  });

  test('does not try devices that nothing asked can tell apart for one another', () => {
    // 17 requests for 16 equal devices have 16! orders; what fails for one fails for all.
    expect(allocated({ devices: { requests: requests(17) } }, gpus(16))).toEqual({ kind: 'unsatisfiable' });
  });

  test('is given up at its bound, which is said', () => {
    const different = Array.from({ length: 12 }, (_, index) => ({
      name: `d${index}`,
      attributes: { numa: { int: index } },
    }));
    const spec = { devices: { requests: requests(6), constraints: [{ matchAttribute: `${driver}/numa` }] } };
    expect(allocated(spec, different, 10)).toEqual({ kind: 'too-many-choices' });
    expect(allocated(spec, different)).toEqual({ kind: 'unsatisfiable' });
  });

  test('gives a claim without requests nothing', () => {
    expect(allocated({}, [])).toEqual({ kind: 'allocated', claims: [[]] });
  });
});

describe('what is in use [M06]', () => {
  test('is as before when all that was taken is given back', () => {
    const device: PublishedDevice = {
      name: 'd',
      allowMultipleAllocations: true,
      capacity: { memory: { value: '4Gi', requestPolicy: { default: '1Gi' } } },
      consumesCounters: [{ counterSet: 'card', counters: { parts: { value: 1 } } }],
    };
    const slice = nodeSlice('a', [device], { sharedCounters: [{ name: 'card', counters: { parts: { value: 1 } } }] });
    const [pool] = poolsOf([slice]);
    const [one] = pool?.devices ?? [];
    if (one === undefined) throw new Error('there is a device');
    const use = unused();
    const held = { device: one, request: 'r', admin: false, consumed: new Map([['memory', 1]]) };
    take(use, held);
    const first = copyOf(use);
    take(use, held);
    // The counters of a device that is shared are taken once.
    expect([...use.counters.values()]).toEqual([1_000]);
    giveBack(use, held);
    expect(use).toEqual(first);
    giveBack(use, held);
    expect(use.shared.size + use.whole.size).toBe(0);
    expect([...use.counters.values()]).toEqual([0]);
  });
});
