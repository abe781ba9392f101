import { describe, expect, test } from 'vitest';
import { foundSickIn } from '../../../shared/app/disrupt/found-sick.ts';
import { judgeSickness } from '../../../shared/app/follow/sickness.ts';
import { AKS_REPAIRS } from '../../../shared/core/model/disruption-input.ts';
import type { Node, NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { START, since } from './small-cluster.ts';

/** Nodes whose sickness has come and gone between two looks of the disruption [L15]. */

const SECOND_MS = 1_000;
const AKS = 'kubernetes.azure.com/NodeHealthy';

function found(claim: ReadonlyArray<object>, node: ReadonlyArray<object>, afterMs: number) {
  const nodeClaim = {
    metadata: { name: 'c' },
    status: { nodeName: 'aks-c', conditions: claim },
  } as unknown as NodeClaim;
  const cluster = {
    nodeClaims: [nodeClaim],
    nodes: [{ metadata: { name: 'aks-c' }, status: { conditions: node } } as Node],
  };
  return [...foundSickIn(cluster, AKS_REPAIRS, START + afterMs)];
}

describe('a node that was sick for long enough', () => {
  const well = [since(START, 'Ready'), since(START - 60_000, AKS)];

  test('counts for two minutes after it is well again, by what its claim says', () => {
    const noted = [since(START, 'NodeHealthy', 'True')];
    expect(found(noted, well, 119 * SECOND_MS)).toEqual([['aks-c', START]]);
    expect(found(noted, well, 120 * SECOND_MS)).toEqual([]);
  });

  test('counts for two minutes after its node said so, where nobody has noted that on its claim', () => {
    const noted = [since(START - 600_000, 'NodeHealthy', 'False')];
    expect(found(noted, well, 119 * SECOND_MS)).toEqual([['aks-c', START]]);
    expect(found(noted, well, 120 * SECOND_MS)).toEqual([]);
    expect(found(noted, [], 0)).toEqual([]);
  });

  test('counts for as long as it is to go for it', () => {
    const marked = { ...since(START, 'DisruptionReason'), reason: 'Unhealthy' };
    expect(found([marked], well, 3_600_000)).toEqual([['aks-c', START]]);
    expect(found([{ ...marked, reason: 'Drifted' }], well, 0)).toEqual([]);
    expect(found([{ ...marked, status: 'False' }], well, 0)).toEqual([]);
  });

  test('is none while nobody has noted anything', () => {
    expect(found([], well, 0)).toEqual([]);
  });
});

describe('the health of a node', () => {
  const judge = (claim: ReadonlyArray<object>, node: ReadonlyArray<object>, afterMs: number) =>
    judgeSickness(
      { metadata: { name: 'c' }, status: { conditions: claim } } as unknown as NodeClaim,
      { metadata: { name: 'n' }, status: { conditions: node } } as Node,
      AKS_REPAIRS,
      START + afterMs,
    );
  const unready = [since(START, 'Ready', 'Unknown')];

  test('is noted when it was bad for as long as is tolerated, to the second', () => {
    expect(judge([], unready, 599 * SECOND_MS)).toEqual({ conditions: [], dueMs: START + 600_000 });
    expect(judge([], unready, 600 * SECOND_MS)).toMatchObject({
      conditions: [{ type: 'NodeHealthy', status: 'False' }],
      dueMs: null,
    });
  });

  test('is noted when it is good again, and not where it never was bad', () => {
    const ready = [since(START, 'Ready')];
    expect(judge([], ready, 0)).toEqual({ conditions: [], dueMs: null });
    expect(judge([since(START, 'NodeHealthy', 'False')], ready, 0)).toMatchObject({
      conditions: [{ type: 'NodeHealthy', status: 'True' }],
      dueMs: null,
    });
  });
});
