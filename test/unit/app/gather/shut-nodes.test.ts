import { describe, expect, test } from 'vitest';
import { shutNodes, withGivenUp } from '../../../../shared/app/gather/shut-nodes.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { START, decisionOf, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
  'kubernetes.io/hostname': 'aks-c',
};
const amounts = { cpu: '2', memory: '8Gi', pods: '110' };
const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };

/**
 * A node that is kept for a pod, which has come, and whose claim has these conditions. Another pod waits, for which
 * there is room: is it let in?
 */
async function isLetIn(...types: ReadonlyArray<string>): Promise<boolean> {
  const cluster = smallCluster();
  const { ports, server, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(['c'], [cluster.addRunning('there', 'c')]);
  await ports.decisions.put(decision);
  cluster.addClaim('c', {
    labels,
    annotations: { 'nodewright.dev/decision': decision.name },
    status: {
      providerID: 'azure://c',
      nodeName: 'aks-c',
      allocatable: amounts,
      capacity: amounts,
      conditions: ['Launched', ...types].map((type) => since(START, type)),
    },
  });
  cluster.addNode('c', { labels, taints: [dedicated], status: { allocatable: amounts, capacity: amounts } });
  cluster.addPod('other', '100m');
  clock.advance(10_000);
  await provision(ports);
  expect(server.list('nodeclaims')).toHaveLength(1);
  return (server.get('pods', 'default/other')?.spec?.['tolerations'] ?? []).length > 0;
}

test('who waits is let in to a node with room that cannot be opened, as its claim says, once that has registered', async () => {
  expect(await isLetIn('Registered', 'WriteDenied')).toBe(true);
  expect(await isLetIn('Registered')).toBe(false);
  expect(await isLetIn('WriteDenied')).toBe(false);
});

type Seen = Parameters<typeof shutNodes>[0];

const NOW = Date.parse('2026-01-01T01:00:00Z');
const MINUTE = 60_000;
const at = (beforeMs: number): string => new Date(NOW - beforeMs).toISOString();
const condition = (type: string, beforeMs: number, status = 'True') => ({
  type,
  status,
  lastTransitionTime: at(beforeMs),
});

interface Given {
  readonly conditions?: ReadonlyArray<object>;
  readonly waitedMs?: number;
  readonly pod?: object;
  readonly taints?: ReadonlyArray<object>;
  readonly createdMs?: number;
  readonly nodes?: ReadonlyArray<string>;
}

const DENIED = [condition('Registered', 10 * MINUTE), condition('WriteDenied', 3 * MINUTE)];

/** Claim `c` with its node, and a pod that has waited for so long beside one that has just come and one that runs. */
function seen({ conditions = DENIED, waitedMs = 3 * MINUTE, pod = {}, createdMs = 30 * MINUTE }: Given): Seen {
  const waiting = { uid: 'w', nodeName: null, deleting: false, createdAtMs: NOW - waitedMs, ...pod };
  const others = [
    { uid: 'new', nodeName: null, deleting: false, createdAtMs: NOW },
    { uid: 'runs', nodeName: 'n', deleting: false, createdAtMs: 0 },
    { uid: 'goes', nodeName: null, deleting: true, createdAtMs: 0 },
  ];
  const claim = {
    metadata: { name: 'c', creationTimestamp: at(createdMs) },
    spec: {},
    status: { nodeName: 'aks-c', conditions },
  };
  const fine = {
    metadata: { name: 'd', creationTimestamp: at(createdMs) },
    spec: {},
    status: { nodeName: 'aks-d', conditions: [] },
  };
  return { pods: [...others, waiting], nodeClaims: [claim, fine], nodes: [] } as unknown as Seen;
}

function shut(given: Given = {}): ReadonlyArray<string> {
  const node = { metadata: { name: 'aks-c' }, spec: { taints: given.taints ?? [dedicated] } };
  const other = { metadata: { name: 'aks-d' }, spec: { taints: [dedicated] } };
  const nodes = new Map([
    ['aks-c', node],
    ['aks-d', other],
  ]) as unknown as Parameters<typeof shutNodes>[1];
  return [...shutNodes(seen(given), nodes, NOW)];
}

describe('a kept node is shut', () => {
  test('three minutes after it could not be written, while somebody has waited as long', () => {
    expect(shut()).toEqual(['aks-c']);
    expect(shut({ waitedMs: 3 * MINUTE - 1 })).toEqual([]);
    expect(
      shut({ conditions: [condition('Registered', 10 * MINUTE), condition('WriteDenied', 3 * MINUTE - 1)] }),
    ).toEqual([]);
  });

  test('not where nobody waits, or where it is open', () => {
    expect(shut({ pod: { nodeName: 'n' } })).toEqual([]);
    expect(shut({ pod: { deleting: true } })).toEqual([]);
    expect(shut({ taints: [] })).toEqual([]);
  });

  test('not before it has registered, nor where it may be written', () => {
    expect(shut({ conditions: [condition('WriteDenied', 9 * MINUTE)] })).toEqual([]);
    expect(
      shut({ conditions: [condition('Registered', 9 * MINUTE), condition('WriteDenied', 9 * MINUTE, 'False')] }),
    ).toEqual([]);
    expect(shut({ conditions: [] })).toEqual([]);
  });
});

describe('a claim that nobody may write counts as given up', () => {
  const givenUp = ({ nodes = [], ...given }: Given) => {
    const snapshot = { ...seen(given), nodes: nodes.map((name) => ({ metadata: { name } })) } as unknown as Seen;
    return withGivenUp(snapshot, NOW).nodeClaims.flatMap(({ metadata }) =>
      metadata.annotations?.['nodewright.dev/given-up'] === undefined ? [] : [metadata.name],
    );
  };
  const denied = [condition('WriteDenied', MINUTE)];

  test('17 minutes after it was made, while it has no node', () => {
    expect(givenUp({ conditions: denied, createdMs: 17 * MINUTE + 1 })).toEqual(['c']);
    expect(givenUp({ conditions: denied, createdMs: 17 * MINUTE })).toEqual([]);
    expect(givenUp({ conditions: denied, nodes: ['aks-c'] })).toEqual([]);
    expect(givenUp({ conditions: denied, nodes: ['aks-d'] })).toEqual(['c']);
  });

  test('or after its node was lost, and not once that is back', () => {
    const lost = (beforeMs: number) => [...denied, condition('Registered', beforeMs, 'False')];
    expect(givenUp({ conditions: lost(17 * MINUTE + 1) })).toEqual(['c']);
    expect(givenUp({ conditions: lost(17 * MINUTE) })).toEqual([]);
    expect(givenUp({ conditions: [...denied, condition('Registered', 29 * MINUTE)] })).toEqual([]);
    expect(givenUp({ conditions: [] })).toEqual([]);
  });
});
