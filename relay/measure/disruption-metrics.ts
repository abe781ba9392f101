import {
  disruptionCounters,
  STATE_AGAIN_MS,
  type DisruptionCounter,
  type DisruptionRecord,
} from '../../shared/contract/figures/disruption-figures.ts';
import { renderFamily, type Sample } from './metric-family.ts';

const prefix = 'karpenter_voluntary_disruption_';

/** Those of pods stand for themselves. */
function nameOf(counter: DisruptionCounter): string {
  return counter.startsWith('pods_') ? `karpenter_${counter}` : `${prefix}${counter}`;
}

/** What is found is written again while it holds. Where it is older than this, nobody looks any more. */
const stateHoldsMs = 2 * STATE_AGAIN_MS;

/** Karpenter's name for what has no limit: the largest 32-bit number. */
const NO_LIMIT = 2_147_483_647;

/** Karpenter's metrics of decisions about nodes that go, as Prometheus text. Empty while no figures are known. */
export function renderDisruption(record: DisruptionRecord | null, nowMs: number): string {
  if (record === null) return '';
  const counters = (Object.keys(disruptionCounters) as ReadonlyArray<DisruptionCounter>).map((name) => {
    const samples = record.totals.filter(({ counter }) => counter === name);
    return renderFamily(
      nameOf(name),
      'counter',
      disruptionCounters[name],
      samples.map(({ labels, by }): Sample => [labels, by]),
    );
  });
  return [...counters, renderState(record.state, nowMs)].join('');
}

function renderState(state: DisruptionRecord['state'], nowMs: number): string {
  if (state === null || nowMs - state.atMs > stateHoldsMs) return '';
  const { eligible, budgets } = state;
  return [
    renderFamily(
      `${prefix}eligible_nodes`,
      'gauge',
      'Nodes that may go, by reason.',
      Object.entries(eligible).map(([reason, nodes]): Sample => [{ reason }, nodes]),
    ),
    renderFamily(
      'karpenter_nodepools_allowed_disruptions',
      'gauge',
      'How many more nodes of a pool may be in disruption now, by reason.',
      budgets.map(({ nodepool, reason, allowed }): Sample => [{ nodepool, reason }, allowed ?? NO_LIMIT]),
    ),
    renderFamily(
      'karpenter_nodepools_nodes_consuming_budgets',
      'gauge',
      'Nodes of a pool that are in disruption, and so count in its budgets.',
      budgets.map(({ nodepool, reason, consuming }): Sample => [{ nodepool, reason }, consuming]),
    ),
  ].join('');
}
