import { durationBucketsSeconds, type DurationHistogram } from '../../shared/contract/figures/duration-histogram.ts';

type Labels = Readonly<Record<string, string>>;

/** One value of a metric, under its labels. */
export type Sample = readonly [Labels, number];

/** Labels as Prometheus text has them, without the braces. */
export function renderLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, text]) => `${name}="${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`)
    .join(',');
}

/**
 * A histogram over Karpenter's buckets, as Prometheus text that ends in a newline: every bucket holds those before it
 * too.
 */
export function renderHistogram(name: string, help: string, labels: Labels, histogram: DurationHistogram): string {
  return renderHistograms(name, help, [[labels, histogram]]);
}

/** The same of a metric that has one for each of several sets of labels. */
export function renderHistograms(
  name: string,
  help: string,
  series: ReadonlyArray<readonly [Labels, DurationHistogram]>,
): string {
  const lines = series.flatMap(([labels, histogram]) => linesOf(name, labels, histogram));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines].map((line) => `${line}\n`).join('');
}

function linesOf(name: string, labels: Labels, histogram: DurationHistogram): ReadonlyArray<string> {
  let total = 0;
  const buckets = histogram.counts.map((count, index) => {
    total += count;
    return [{ ...labels, le: String(durationBucketsSeconds[index] ?? '+Inf') }, total] as const;
  });
  return [
    ...buckets.map(([own, value]) => renderSample(`${name}_bucket`, own, value)),
    renderSample(`${name}_sum`, labels, histogram.sumMs / 1_000),
    renderSample(`${name}_count`, labels, total),
  ];
}

/** A metric with its help, type and values, as Prometheus text that ends in a newline. */
export function renderFamily(
  name: string,
  type: 'counter' | 'gauge' | 'summary',
  help: string,
  samples: ReadonlyArray<Sample>,
): string {
  const lines = samples.map(([labels, value]) => renderSample(name, labels, value));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].map((line) => `${line}\n`).join('');
}

/** One value of a metric under its labels, as a line of Prometheus text without its newline. */
export function renderSample(name: string, labels: Labels, value: number): string {
  const text = renderLabels(labels);
  return `${name}${text === '' ? '' : `{${text}}`} ${value}`;
}

/** Counters by name and labels. A series appears when it is first counted, as in Prometheus' own clients. */
export interface Families<Name extends string> {
  readonly add: (name: Name, labels: Labels, by?: number) => void;
  readonly render: () => string;
}

/** Makes counters, named with their help. */
export function createFamilies<Name extends string>(help: Readonly<Record<Name, string>>): Families<Name> {
  const series = new Map<Name, Map<string, { readonly labels: Labels; readonly count: number }>>();
  return {
    add(name, labels, by = 1) {
      const family = series.get(name) ?? new Map<string, { readonly labels: Labels; readonly count: number }>();
      series.set(name, family);
      const key = renderLabels(labels);
      family.set(key, { labels, count: (family.get(key)?.count ?? 0) + by });
    },
    render() {
      const names = Object.keys(help) as Array<Name>;
      return names
        .map((name) => {
          const samples = [...(series.get(name)?.values() ?? [])].map(({ labels, count }): Sample => [labels, count]);
          return renderFamily(name, 'counter', help[name], samples);
        })
        .join('');
    },
  };
}
