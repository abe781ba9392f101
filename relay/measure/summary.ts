import { renderFamily, renderSample } from './metric-family.ts';

/** Quantiles of durations by pool, as Prometheus' own clients show a summary. */
export interface Summary {
  readonly add: (nodepool: string, durationMs: number) => void;
  /** Prometheus text; empty before the first duration. */
  readonly render: () => string;
}

/** Those of Karpenter's summaries. */
const quantiles = [0, 0.5, 0.9, 0.99, 1] as const;

/** Quantiles are of what came within this time, as in Prometheus' Go client; sum and count are of all. */
const WINDOW_MS = 10 * 60_000;

/** So many of the latest are kept of a pool: 16 KiB. */
const KEPT_MAX = 1_000;

interface Series {
  readonly recent: ReadonlyArray<{ readonly atMs: number; readonly seconds: number }>;
  readonly sum: number;
  readonly count: number;
}

const nothing: Series = { recent: [], sum: 0, count: 0 };

/** Makes one that has seen nothing. `now` in milliseconds since the epoch. */
export function createSummary(name: string, help: string, now: () => number): Summary {
  const byPool = new Map<string, Series>();

  function linesOf(nodepool: string, { recent, sum, count }: Series): ReadonlyArray<string> {
    const known = recent
      .filter(({ atMs }) => now() - atMs <= WINDOW_MS)
      .map(({ seconds }) => seconds)
      .toSorted((a, b) => a - b);
    return [
      ...quantiles.map((quantile) => {
        const value = known[Math.max(0, Math.ceil(quantile * known.length) - 1)] ?? Number.NaN;
        return renderSample(name, { nodepool, quantile: String(quantile) }, value);
      }),
      renderSample(`${name}_sum`, { nodepool }, sum),
      renderSample(`${name}_count`, { nodepool }, count),
    ];
  }

  return {
    add(nodepool, durationMs) {
      const { recent, sum, count } = byPool.get(nodepool) ?? nothing;
      const seconds = Math.max(0, durationMs) / 1_000;
      const kept = [...recent, { atMs: now(), seconds }].slice(-KEPT_MAX);
      byPool.set(nodepool, { recent: kept, sum: sum + seconds, count: count + 1 });
    },
    render() {
      if (byPool.size === 0) return '';
      const lines = [...byPool].flatMap(([nodepool, series]) => linesOf(nodepool, series));
      return renderFamily(name, 'summary', help, []) + lines.map((line) => `${line}\n`).join('');
    },
  };
}
