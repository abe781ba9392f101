import { describe, expect, test } from 'vitest';
import { follow } from '../../../shared/app/follow/follow.ts';
import { START, decisionOf, machine, since, smallCluster } from './small-cluster.ts';

const reserved = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };
const starting = { key: 'driver', effect: 'NoSchedule' };

/** The node of claim `c`, reserved for so many pods, all of which have come; what one look asks and does. */
async function opened(count: number, given: { readonly startupTaint?: boolean; readonly come?: number } = {}) {
  const cluster = smallCluster();
  const { ports, server, trace } = cluster;
  const names = Array.from({ length: count }, (_, index) => `p-${index}`);
  const decision = decisionOf(
    ['c'],
    names.map((name) => cluster.addPod(name)),
  );
  await ports.decisions.put(decision);
  const startupTaints = (given.startupTaint ?? false) ? [starting] : [];
  cluster.azure.machines.set('c', machine('c'));
  cluster.addClaim('c', {
    annotations: { 'nodewright.dev/decision': decision.name },
    spec: { startupTaints },
    status: { providerID: 'azure://c', conditions: [since(START, 'Launched'), since(START, 'Registered')] },
  });
  cluster.addNode('c', { taints: [...startupTaints, reserved] });
  for (const name of names.slice(0, given.come ?? count)) {
    server.patch('pods', `default/${name}`, { spec: { nodeName: 'aks-c' } }, 'object');
  }
  trace.length = 0;
  const step = await follow(ports, { kind: 'NodeClaim', name: 'c' });
  const node = server.get('nodes', 'aks-c');
  return {
    ...cluster,
    step,
    asked: trace.filter((request) => request.startsWith('GET') && request.includes('/pods/')).length,
    lists: trace.filter((request) => request.includes('/pods?')).length,
    writes: trace.filter((request) => request.startsWith('PATCH') && request.includes('/nodes/')).length,
    taints: node?.spec?.['taints'] as unknown,
    mark: node?.metadata.labels?.['karpenter.sh/initialized'],
  };
}

describe('whether the planned pods of a node have come', () => {
  test.each([1, 5])('is asked one by one of up to five: %d', async (count) => {
    expect(await opened(count)).toMatchObject({ asked: count, lists: 0, taints: [] });
  });

  test('is read from one list of more, and those that have come are not asked', async () => {
    expect(await opened(6)).toMatchObject({ asked: 0, lists: 1, taints: [] });
    expect(await opened(7, { come: 5 })).toMatchObject({ asked: 2, lists: 1, taints: [reserved] });
  });
});

describe('a node whose planned pods have come', () => {
  test('is opened and marked initialized in one write when nothing else is missing', async () => {
    const { writes, taints, mark, conditionOf } = await opened(2);
    expect({ writes, taints, mark }).toEqual({ writes: 1, taints: [], mark: 'true' });
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'True' });
  });

  test('is opened and not marked while a startup taint is on it', async () => {
    const { writes, taints, mark, conditionOf } = await opened(2, { startupTaint: true });
    expect({ writes, taints, mark }).toEqual({ writes: 1, taints: [starting], mark: undefined });
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'Unknown', reason: 'StartupTaintsExist' });
  });
});
