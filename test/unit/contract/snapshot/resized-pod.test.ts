import { describe, expect, test } from 'vitest';
import { readPod } from '../../../../shared/contract/snapshot/reduced/reduced-pod.ts';
import { requestedBy } from '../../../../shared/core/audit/seen/requested.ts';
import { podRequests } from '../../../../shared/core/rules/pod-requests.ts';

/** Karpenter's scenarios C06 on pods that are resized in place: what counts of spec and status. */

const requests = (cpu: string) => ({ requests: { cpu, memory: '1Gi' } });
const cpuOf = (spec: string, status: object, conditions: ReadonlyArray<object> = []) => {
  const raw = {
    metadata: { name: 'a', namespace: 'default', uid: 'a' },
    spec: {
      nodeName: 'n',
      containers: [
        { name: 'app', resources: requests(spec) },
        { name: 'other', resources: requests('1') },
      ],
    },
    status: { phase: 'Running', conditions, containerStatuses: [{ name: 'app', ...status }, { name: 'other' }] },
  };
  const read = readPod(raw);
  if (read?.kind !== 'pod') throw new Error('the pod was not read');
  const cpu = podRequests(read.shape.spec).get('cpu');
  expect(requestedBy(read.shape.spec).get('cpu')).toBe(cpu);
  return { cpu, shape: read.shape };
};

describe('a pod that is resized in place', () => {
  test('counts with what its node has allocated where that is more [C06]', () => {
    expect(cpuOf('1', { allocatedResources: { cpu: '3' }, resources: requests('2') }).cpu).toBe(4000);
  });

  test('counts with what it still uses where that is more [C06]', () => {
    expect(cpuOf('1', { allocatedResources: { cpu: '1' }, resources: requests('2') }).cpu).toBe(3000);
  });

  test('counts with its spec where that is more [C06]', () => {
    expect(cpuOf('4', { allocatedResources: { cpu: '2' }, resources: requests('2') }).cpu).toBe(5000);
  });

  test('counts with its spec where the status says nothing [C06]', () => {
    expect(cpuOf('2', {}).cpu).toBe(3000);
  });

  test('counts without its spec where the resize is infeasible [C06]', () => {
    const infeasible = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }];
    expect(cpuOf('100', { allocatedResources: { cpu: '2' }, resources: requests('2') }, infeasible).cpu).toBe(3000);
    const deferred = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }];
    expect(cpuOf('100', { allocatedResources: { cpu: '2' }, resources: requests('2') }, deferred).cpu).toBe(101_000);
  });

  test('shares the shape of pods that are not, as long as spec and status agree [C06]', () => {
    const agree = cpuOf('2', { allocatedResources: requests('2').requests, resources: requests('2') }).shape;
    expect(agree).toEqual(cpuOf('2', {}).shape);
  });
});
