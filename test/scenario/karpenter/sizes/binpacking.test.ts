import { describe, expect, test } from 'vitest';
import type { PodSpec, ResourceList } from '../../../../shared/kubernetes/manifest.ts';
import { podRequests } from '../../../../shared/core/rules/pod-requests.ts';
import { requestedBy } from '../../../../shared/core/audit/seen/requested.ts';
import { pool, size } from '../../../kit/core/build.ts';
import { D2, D4, D8, key, pod, replicas, schedule, valuesOf } from '../kit/kit.ts';

/** Karpenter's scenarios of section C: binpacking. */

const names = (outcome: ReturnType<typeof schedule>) => outcome.claims.map(({ offering }) => offering.instanceType);

describe('packing', () => {
  test('a small pod gets the cheapest node [C01]', () => {
    expect(names(schedule({ pods: [pod('a')] }))).toEqual(['Standard_D2s_v5']);
  });

  test('many small pods share one cheapest node [C01]', () => {
    expect(names(schedule({ pods: replicas(10, 'a') }))).toEqual(['Standard_D2s_v5']);
  });

  test('large and small pods are packed together [C01]', () => {
    const outcome = schedule({ pods: [...replicas(2, 'large', { cpu: '3' }), ...replicas(10, 'small')] });
    expect(outcome.plan.cost).toBe(390_000);
  });

  test('nodes are filled: a pod fewer would not do with less [C01]', () => {
    const outcome = schedule({ types: [D4], pods: replicas(40, 'a', { cpu: '400m' }) });
    expect(outcome.perPlace('a')).toEqual([10, 10, 10, 10]);
  });

  test('the overhead of a RuntimeClass counts [C02]', () => {
    const heavy = pod('a', { cpu: '1500m', overhead: { cpu: '1' } });
    expect(names(schedule({ pods: [heavy] }))).toEqual(['Standard_D4s_v5']);
  });

  test('the largest init container counts, and one that is too large for every size keeps the pod out [C02]', () => {
    const starts = (cpu: string) => ({ initContainers: [{ resources: { requests: { cpu } } }] });
    expect(names(schedule({ pods: [pod('a', starts('3'))] }))).toEqual(['Standard_D4s_v5']);
    expect(schedule({ pods: [pod('a', starts('30'))] }).rulesFor('a')).toEqual(['resource']);
  });

  test('requests of nothing are fine [C03]', () => {
    expect(schedule({ pods: [pod('a', { cpu: '0', memory: '0', requests: { 'nvidia.com/gpu': '0' } })] }).left).toEqual(
      [],
    );
  });

  test('a request above every size leaves the pod, and the reason names the resource [C03]', () => {
    const outcome = schedule({ pods: [pod('a', { cpu: '10000' }), pod('b', { memory: '1Ti' })] });
    expect([outcome.wordsFor('a'), outcome.wordsFor('b')]).toEqual([
      expect.stringContaining('cpu'),
      expect.stringContaining('memory'),
    ]);
  });

  test.each([
    ['CPU', { cpu: '1500m' }],
    ['memory', { memory: '6Gi' }],
  ])('a new node is opened when %s is full [C04]', (_, parts) => {
    expect(schedule({ types: [D2], pods: replicas(3, 'a', parts) }).claims).toHaveLength(3);
  });

  test('a new node is opened when the node’s limit of pods is reached [C04]', () => {
    const five = size('Standard_D2s_v5', 2, 8, 100_000, { capacity: { cpu: 2, memory: '8Gi', pods: 5 } });
    const outcome = schedule({ types: [five], pods: replicas(12, 'a', { cpu: '1m', memory: '1Mi' }) });
    expect(outcome.perPlace('a')).toEqual([5, 5, 2]);
  });

  test('dearer sizes that would do stay among the choices [C05]', () => {
    const dear = size('Standard_D64s_v5', 64, 256, 90_000_000);
    const claim = schedule({ types: [D2, dear], pods: [pod('a')] }).claimOf('a');
    expect(valuesOf(claim, key.type)).toEqual(['Standard_D2s_v5', 'Standard_D64s_v5']);
  });

  test('a pool’s sizes that are out of its limits are not among the choices [C05]', () => {
    const limited = pool('default', { limits: { cpu: '4' } });
    const claim = schedule({ types: [D2, D4, D8], pools: [limited], pods: [pod('a')] }).claimOf('a');
    expect(claim.fallbacks.map(({ instanceType }) => instanceType)).not.toContain('Standard_D8s_v5');
  });
});

const asks = (cpu: string, memory = '1Gi') => ({ resources: { requests: { cpu, memory } } });
const sidecar = (cpu: string, memory = '1Gi') => ({ ...asks(cpu, memory), restartPolicy: 'Always' });

describe('what a pod requests', () => {
  const CASES: ReadonlyArray<readonly [string, PodSpec, ResourceList]> = [
    ['containers add up', { containers: [asks('1'), asks('2')] }, { cpu: 3000, memory: 2 }],
    [
      'an init container below that changes nothing',
      { containers: [asks('2')], initContainers: [asks('1')] },
      { cpu: 2000, memory: 1 },
    ],
    [
      'an init container above that counts alone',
      { containers: [asks('2')], initContainers: [asks('5')] },
      { cpu: 5000, memory: 1 },
    ],
    [
      'of several init containers the largest',
      { containers: [asks('1')], initContainers: [asks('4', '1Gi'), asks('3', '7Gi')] },
      { cpu: 4000, memory: 7 },
    ],
    [
      'a sidecar runs beside the containers',
      { containers: [asks('2')], initContainers: [sidecar('1')] },
      { cpu: 3000, memory: 2 },
    ],
    [
      'sidecars add up',
      { containers: [asks('2')], initContainers: [sidecar('1'), sidecar('3')] },
      { cpu: 6000, memory: 3 },
    ],
    [
      'an init container after a sidecar runs beside it',
      { containers: [asks('1')], initContainers: [sidecar('2'), asks('4')] },
      { cpu: 6000, memory: 2 },
    ],
    [
      'an init container before a sidecar does not',
      { containers: [asks('1')], initContainers: [asks('4'), sidecar('2')] },
      { cpu: 4000, memory: 2 },
    ],
    [
      'between sidecars, only those before it',
      { containers: [asks('1')], initContainers: [sidecar('1'), asks('5'), sidecar('3')] },
      { cpu: 6000, memory: 3 },
    ],
    [
      'the pod’s own request stands in for its containers’',
      { containers: [asks('1')], resources: { requests: { cpu: '4' } } },
      { cpu: 4000, memory: 1 },
    ],
    [
      'the pod’s limit stands in where nothing is requested',
      { containers: [{}], resources: { limits: { cpu: '4', memory: '2Gi' } } },
      { cpu: 4000, memory: 2 },
    ],
    [
      'the pod’s own requests with overhead',
      { containers: [asks('1')], overhead: { cpu: '500m' }, resources: { requests: { cpu: '4', memory: '2Gi' } } },
      { cpu: 4500, memory: 2 },
    ],
    [
      'a container’s limit stands in for its request',
      { containers: [{ resources: { limits: { cpu: '3' } } }] },
      { cpu: 3000 },
    ],
  ];

  test.each(CASES)('%s [C06]', (_, spec, expected) => {
    const gib = (amount: number | undefined) => (amount === undefined ? undefined : amount / 2 ** 30);
    for (const read of [podRequests(spec), requestedBy(spec)]) {
      expect({ cpu: read.get('cpu'), memory: gib(read.get('memory')) }).toEqual({ memory: undefined, ...expected });
    }
  });
});
