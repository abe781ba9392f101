import { expect, test } from 'vitest';
import { renderDisruption } from '../../../../relay/measure/disruption-metrics.ts';
import { NO_DISRUPTION, STATE_AGAIN_MS, withLook } from '../../../../shared/contract/figures/disruption-figures.ts';

const record = withLook(NO_DISRUPTION, {
  id: 'a',
  atMs: 0,
  counts: [
    { counter: 'decisions_total', labels: { decision: 'replace', reason: 'drifted', consolidation_type: '' }, by: 1 },
  ],
  state: { eligible: { empty: 3 }, budgets: [{ nodepool: 'a', reason: 'empty', allowed: null, consuming: 2 }] },
});

function samples(nowMs: number): ReadonlyArray<string> {
  return renderDisruption(record, nowMs)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

test('decisions, eligible nodes and budgets are shown under the names of Karpenter [L02] [L14]', () => {
  expect(samples(STATE_AGAIN_MS)).toEqual([
    'karpenter_voluntary_disruption_decisions_total{decision="replace",reason="drifted",consolidation_type=""} 1',
    'karpenter_voluntary_disruption_eligible_nodes{reason="empty"} 3',
    'karpenter_nodepools_allowed_disruptions{nodepool="a",reason="empty"} 2147483647',
    'karpenter_nodepools_nodes_consuming_budgets{nodepool="a",reason="empty"} 2',
  ]);
});

test('evictions are shown beside them, under names of their own [K08]', () => {
  const evicted = withLook(NO_DISRUPTION, {
    id: 'b',
    atMs: 0,
    counts: [
      { counter: 'pods_eviction_requests_total', labels: { code: '429' }, by: 2 },
      { counter: 'pods_drained_total', labels: { reason: 'Drifted' }, by: 1 },
    ],
    state: null,
  });
  const lines = renderDisruption(evicted, 0).split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
    'karpenter_pods_drained_total{reason="Drifted"} 1',
    'karpenter_pods_eviction_requests_total{code="429"} 2',
  ]);
});

test('what was found goes away when nobody has looked for long, and what was counted stays', () => {
  expect(samples(2 * STATE_AGAIN_MS + 1)).toHaveLength(1);
});

test('nothing is shown before the first look', () => {
  expect(renderDisruption(null, 0)).toBe('');
});
