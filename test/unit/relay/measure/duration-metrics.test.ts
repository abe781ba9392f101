import { describe, expect, it } from 'vitest';
import { createDurationMetrics } from '../../../../relay/measure/duration-metrics.ts';
import { createSummary } from '../../../../relay/measure/summary.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();
const labels = { 'karpenter.sh/nodepool': 'general' };
const claim = {
  metadata: { name: 'c', labels, creationTimestamp: at(0), deletionTimestamp: at(60) },
  spec: { nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, requirements: [] },
  status: {
    conditions: [
      { type: 'Launched', status: 'True', lastTransitionTime: at(1) },
      { type: 'InstanceTerminating', status: 'True', lastTransitionTime: at(80) },
    ],
  },
};
const node = (registered = true) => ({
  metadata: {
    name: 'n',
    labels: registered ? { ...labels, 'karpenter.sh/registered': 'true' } : labels,
    creationTimestamp: at(10),
    deletionTimestamp: at(70),
  },
});

/** What is shown 100 s after the start, when `raw` has gone; but buckets. */
function gone(
  resource: 'nodes' | 'nodeclaims',
  raw: { readonly metadata: { readonly name: string } },
  isPublishing = true,
) {
  const builder = createSnapshotBuilder('test');
  const metrics = createDurationMetrics({ isPublishing: () => isPublishing, now: () => START + 100_000 });
  metrics.observe(builder.upsert(resource, raw));
  expect(metrics.render()).toBe('');
  metrics.observe(builder.remove(resource, raw.metadata.name));
  const lines = metrics.render().split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket'));
}

describe('how long it took', () => {
  it('a claim that is gone took from its deletion, and its machine from when that was asked to go [J06]', () => {
    expect(gone('nodeclaims', claim)).toEqual([
      'karpenter_nodeclaims_termination_duration_seconds_sum{nodepool="general"} 40',
      'karpenter_nodeclaims_termination_duration_seconds_count{nodepool="general"} 1',
      'karpenter_nodeclaims_instance_termination_duration_seconds_sum{nodepool="general"} 20',
      'karpenter_nodeclaims_instance_termination_duration_seconds_count{nodepool="general"} 1',
    ]);
  });

  it('a node that is gone lived from its creation, and took from its deletion', () => {
    const quantiles = ['0', '0.5', '0.9', '0.99', '1'].map(
      (quantile) => `karpenter_nodes_termination_duration_seconds{nodepool="general",quantile="${quantile}"} 30`,
    );
    expect(gone('nodes', node())).toEqual([
      'karpenter_nodes_lifetime_duration_seconds_sum{nodepool="general"} 90',
      'karpenter_nodes_lifetime_duration_seconds_count{nodepool="general"} 1',
      ...quantiles,
      'karpenter_nodes_termination_duration_seconds_sum{nodepool="general"} 30',
      'karpenter_nodes_termination_duration_seconds_count{nodepool="general"} 1',
    ]);
  });

  it('one whose deletion nobody saw lived, and is not known to have taken any time', () => {
    const { deletionTimestamp: _, ...metadata } = node().metadata;
    expect(gone('nodes', { metadata }).every((line) => line.includes('lifetime'))).toBe(true);
  });

  it('a node that was never one of ours, and anything while another relay counts, is not counted', () => {
    expect(gone('nodes', node(false))).toEqual([]);
    expect(gone('nodes', node(), false)).toEqual([]);
    expect(gone('nodeclaims', claim, false)).toEqual([]);
  });

  it('two of a pool are one series of one histogram, with one heading', () => {
    const builder = createSnapshotBuilder('test');
    const metrics = createDurationMetrics({ isPublishing: () => true, now: () => START + 100_000 });
    for (const [name, pool] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
    ] as const) {
      const raw = { ...claim, metadata: { ...claim.metadata, name, labels: { 'karpenter.sh/nodepool': pool } } };
      metrics.observe(builder.upsert('nodeclaims', raw));
      metrics.observe(builder.remove('nodeclaims', name));
    }
    const text = metrics.render();
    expect(text).toContain('karpenter_nodeclaims_termination_duration_seconds_count{nodepool="x"} 2\n');
    expect(text).toContain('karpenter_nodeclaims_termination_duration_seconds_bucket{nodepool="y",le="40"} 1\n');
    expect(text.split('# TYPE karpenter_nodeclaims_termination_duration_seconds histogram')).toHaveLength(2);
  });
});

describe('a summary', () => {
  it('has quantiles of the last ten minutes, and sum and count of all', () => {
    let nowMs = 0;
    const summary = createSummary('s', 'Help.', () => nowMs);
    summary.add('x', 1_000_000);
    nowMs = 600_001;
    for (const seconds of [4, 2, 3, 1]) summary.add('x', seconds * 1_000);
    expect(summary.render()).toBe(
      [
        '# HELP s Help.',
        '# TYPE s summary',
        's{nodepool="x",quantile="0"} 1',
        's{nodepool="x",quantile="0.5"} 2',
        's{nodepool="x",quantile="0.9"} 4',
        's{nodepool="x",quantile="0.99"} 4',
        's{nodepool="x",quantile="1"} 4',
        's_sum{nodepool="x"} 1010',
        's_count{nodepool="x"} 5',
        '',
      ].join('\n'),
    );
    nowMs = 1_200_001;
    expect(summary.render()).toContain('quantile="1"} 4\n');
    nowMs += 1;
    expect(summary.render()).toContain('quantile="1"} NaN\n');
  });

  it('keeps the latest thousand, and takes clocks that differ for no time', () => {
    const summary = createSummary('s', 'Help.', () => 0);
    summary.add('x', 9_000_000);
    for (let count = 0; count < 1_000; count++) summary.add('x', -5);
    expect(summary.render()).toContain('quantile="1"} 0\n');
    expect(summary.render()).toContain('s_sum{nodepool="x"} 9000\ns_count{nodepool="x"} 1001\n');
  });
});
