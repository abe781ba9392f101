import { describe, expect, test } from 'vitest';
import { roomLeft } from '../../../../shared/app/gather/room-left.ts';

type Given = Parameters<typeof roomLeft>[0];

const shapes = [
  { spec: { containers: [{ resources: { requests: { cpu: '600m' } } }] } },
  { spec: { containers: [{ resources: { requests: { cpu: '200m', 'example.com/device': '1' } } }] } },
];

interface Change {
  readonly labels?: object;
  readonly deletionTimestamp?: string;
  readonly spec?: object;
  readonly status?: object;
}

/** A node with one pod of shape 0, and what `change` says. */
function seen(change: Change = {}): Given {
  const allocatable = { cpu: '1900m', pods: '30', 'example.com/device': '0' };
  const node = {
    metadata: { name: 'n', labels: change.labels ?? {}, deletionTimestamp: change.deletionTimestamp },
    spec: change.spec ?? {},
    status: { allocatable, conditions: [{ type: 'Ready', status: 'False' }], ...change.status },
  };
  const pods = [
    { nodeName: 'n', shape: 0 },
    { nodeName: 'other', shape: 0 },
    { nodeName: null, shape: 0 },
  ];
  return { nodes: [node], pods, shapes } as unknown as Given;
}

describe('a node has room', () => {
  const roomOn = (given: Given, shape = 0, node = 'n'): number => roomLeft(given, new Set(['n', 'm']))(node, shape);

  test('for as many more pods as fit beside those that are there', () => {
    expect(roomOn(seen())).toBe(2);
    expect(roomOn(seen({ status: { allocatable: { cpu: '600m' } } }))).toBe(0);
    expect(roomOn(seen({ status: { allocatable: { cpu: '100m' } } }))).toBe(0);
    expect(roomOn(seen({ status: { allocatable: { cpu: '9', pods: '3' } } }))).toBe(2);
  });

  test('for as many as were planned while it has not joined, or does not report what they ask for', () => {
    expect(roomOn(seen(), 0, 'm')).toBe(Infinity);
    expect(roomOn(seen({ status: { allocatable: {} } }))).toBe(Infinity);
    expect(roomOn(seen(), 1)).toBe(6);
  });

  test('for nobody once it was in use and is not ready any more, or is to go', () => {
    const inUse = { 'karpenter.sh/initialized': 'true' };
    expect(roomOn(seen({ labels: inUse }))).toBe(0);
    const isReady = { conditions: [{ type: 'Ready', status: 'True' }] };
    expect(roomOn(seen({ labels: inUse, status: isReady }))).toBe(2);
    expect(roomOn(seen({ spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } }))).toBe(0);
    expect(roomOn(seen({ deletionTimestamp: '2026-01-01T00:00:00Z' }))).toBe(0);
  });
});
