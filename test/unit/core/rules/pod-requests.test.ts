import { expect, test } from 'vitest';
import type { PodSpec } from '../../../../shared/kubernetes/manifest.ts';
import { requestedBy } from '../../../../shared/core/audit/seen/requested.ts';
import { podRequests } from '../../../../shared/core/rules/pod-requests.ts';

const container = (cpu: string, more: object = {}) => ({ resources: { requests: { cpu } }, ...more });
const sidecar = (cpu: string) => container(cpu, { restartPolicy: 'Always' });

const cases: ReadonlyArray<readonly [string, PodSpec, number]> = [
  ['containers add up', { containers: [container('1'), container('500m')] }, 1500],
  [
    'an init container counts when it needs more than all containers',
    { containers: [container('1')], initContainers: [container('3')] },
    3000,
  ],
  ['a sidecar runs beside the containers', { containers: [container('1')], initContainers: [sidecar('500m')] }, 1500],
  [
    'an init container runs beside the sidecars before it',
    { containers: [container('1')], initContainers: [sidecar('1'), container('2')] },
    3000,
  ],
  [
    'an init container does not run beside later sidecars',
    { containers: [container('1')], initContainers: [container('2'), sidecar('500m')] },
    2000,
  ],
  ['overhead comes on top', { containers: [container('1')], overhead: { cpu: '250m' } }, 1250],
  ['a limit stands for a request that is missing', { containers: [{ resources: { limits: { cpu: '2' } } }] }, 2000],
  [
    'a request wins over a limit',
    { containers: [{ resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }] },
    1000,
  ],
  [
    'pod-level requests take the place of the sum',
    { containers: [container('1')], resources: { requests: { cpu: '4' } } },
    4000,
  ],
  [
    'pod-level limits do not, where containers ask',
    { containers: [container('1')], resources: { limits: { cpu: '4' } } },
    1000,
  ],
];

test.each(cases)('%s', (_, spec, cpu) => {
  expect(podRequests(spec).get('cpu')).toBe(cpu);
});

test.each(cases)('the audit reads it the same way: %s', (_, spec, cpu) => {
  expect(requestedBy(spec).get('cpu')).toBe(cpu);
});

test('every pod takes one of the resource pods', () => {
  expect(podRequests({ containers: [] }).get('pods')).toBe(1);
});
