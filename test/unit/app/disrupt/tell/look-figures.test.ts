import { describe, expect, test } from 'vitest';
import { decisionCounts, failureCounts, stateOf } from '../../../../../shared/app/disrupt/tell/look-figures.ts';
import type { Candidate } from '../../../../../shared/core/disruption/second-look/begun.ts';
import { gather } from '../../../../../shared/app/gather/gather.ts';
import { consolidated } from '../../../../kit/app/consolidated.ts';

/** Figures of disruption, under Karpenter's names and labels. */

const candidate = (nodePool: string): Candidate =>
  ({ claim: { metadata: { labels: { 'karpenter.sh/nodepool': nodePool } } } }) as unknown as Candidate;

describe('a decision', () => {
  test('for several nodes is a consolidation of several, and counts once for each of their pools [L14]', () => {
    const candidates = ['a', 'b', 'a'].map(candidate);
    const labels = { decision: 'replace', reason: 'underutilized', consolidation_type: 'multi' };
    expect(decisionCounts({ reason: 'Underutilized', candidates, replacements: 1 })).toEqual([
      { counter: 'decisions_total', labels, by: 1 },
      ...['a', 'b'].map((nodepool) => ({
        counter: 'decisions_by_nodepool_total',
        labels: { nodepool, ...labels },
        by: 1,
      })),
    ]);
  });

  test.each(['Expired', 'Unhealthy', 'StaticSurplus'])(
    'that is nobody’s choice counts neither when it is made nor when it fails, as in Karpenter: %s [L14]',
    (reason) => {
      const removal = { reason, candidates: [candidate('a')], replacements: 1 };
      expect([decisionCounts(removal), failureCounts(removal)]).toEqual([[], []]);
    },
  );
});

test('a pool without a budget for a reason allows any number, which is told as null [L14]', async () => {
  const { ports, server } = consolidated();
  const budgets = [{ nodes: '0', reasons: ['Drifted'] }];
  server.patch('nodepools', 'general', { spec: { disruption: { budgets } } }, 'object');
  const gathered = await gather(ports, await ports.ledger.read(), true);
  if (gathered === null) throw new Error('there is no snapshot');
  const { budgets: told } = stateOf(gathered, { eligible: {} } as never, ports.now());
  expect(told.map(({ reason, allowed }) => [reason, allowed])).toEqual([
    ['empty', null],
    ['underutilized', null],
    ['drifted', 0],
  ]);
});
