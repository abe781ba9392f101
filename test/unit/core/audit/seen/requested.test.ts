import { expect, test } from 'vitest';
import type { Container, PodSpec, ResourceList } from '../../../../../shared/kubernetes/manifest.ts';
import { amountsOf, requestedBy } from '../../../../../shared/core/audit/seen/requested.ts';

/** What the audit takes a pod to need, by its own reading. */

const asking = (requests: ResourceList, limits?: ResourceList): Container => ({
  resources: { requests, ...(limits === undefined ? {} : { limits }) },
});
const gib = (count: number) => count * 2 ** 30;

const PODS: ReadonlyArray<readonly [string, PodSpec, Readonly<Record<string, number>>]> = [
  [
    'a request of the whole pod for memory stands in for those of its containers',
    { containers: [asking({ memory: '1Gi' })], resources: { requests: { memory: '3Gi' } } },
    { memory: gib(3) },
  ],
  [
    'a request of the whole pod for huge pages stands in for those of its containers',
    { containers: [asking({ 'hugepages-2Mi': '4Mi' })], resources: { requests: { 'hugepages-2Mi': '8Mi' } } },
    { 'hugepages-2Mi': 8 * 2 ** 20 },
  ],
  [
    'a whole pod requests no devices',
    { containers: [asking({ 'nvidia.com/gpu': 1 })], resources: { requests: { 'nvidia.com/gpu': 2 } } },
    { 'nvidia.com/gpu': 1 },
  ],
  [
    'a limit of the whole pod is no request where one of two containers requests',
    { containers: [asking({ cpu: 1 }), {}], resources: { limits: { cpu: 4 } } },
    { cpu: 1_000 },
  ],
  [
    'a limit of the whole pod is no request where one of two containers is limited',
    { containers: [{ resources: { limits: { cpu: 2 } } }, {}], resources: { limits: { cpu: 4 } } },
    { cpu: 2_000 },
  ],
  [
    'a limit of the whole pod is no request where an init container requests',
    { containers: [{}], initContainers: [asking({ cpu: 1 })], resources: { limits: { cpu: 4 } } },
    { cpu: 1_000 },
  ],
  [
    'a limit of the whole pod on one resource stands, whatever its containers say of another',
    { containers: [asking({ memory: '1Gi' })], resources: { limits: { cpu: 4 } } },
    { cpu: 4_000, memory: gib(1) },
  ],
  [
    'an overhead alone is needed too',
    { containers: [{}], resources: { requests: { cpu: 1 } }, overhead: { memory: '1Gi' } },
    { cpu: 1_000, memory: gib(1) },
  ],
  [
    'what a container holds is needed, though nobody asks for it',
    { containers: [{ held: [{ cpu: 2 }] }] },
    { cpu: 2_000 },
  ],
  [
    'what an init container holds is needed, though nobody asks for it',
    { containers: [{}], initContainers: [{ held: [{ cpu: 2 }] }] },
    { cpu: 2_000 },
  ],
];

test.each(PODS)('%s', (_, spec, needed) => {
  expect(Object.fromEntries(requestedBy(spec))).toEqual({ ...needed, pods: 1 });
});

test('an amount that cannot be read is more than any node has where it is asked for, and nothing where it is offered', () => {
  expect(amountsOf({ cpu: 'two' }, 'up').get('cpu')).toBe(Number.MAX_SAFE_INTEGER);
  expect(amountsOf({ cpu: 'two' }, 'down').get('cpu')).toBe(0);
});
