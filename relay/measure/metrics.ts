import { renderLabels } from './metric-family.ts';

/** What all of the relay's own metrics begin with. */
const metricsPrefix = 'nodewright_relay_';

/** Counts and gauges, rendered as Prometheus text. */
export interface Metrics {
  readonly add: (name: string, labels?: Readonly<Record<string, string>>, value?: number) => void;
  /** A gauge whose value is asked for when it is rendered. */
  readonly gauge: (name: string, help: string, read: () => number) => void;
  readonly render: () => string;
}

const help: Readonly<Record<string, string>> = {
  lists_total: 'Lists that were read to their end, by resource.',
  watch_events_total: 'Events seen on watches, bookmarks included, by resource.',
  feed_failures_total: 'Lists and watches that failed, by resource.',
  malformed_total: 'Objects and events that could not be read, by resource.',
  publishes_total: 'Snapshots published, by outcome.',
  hints_sent_total: 'Hints that a queue has taken, by queue.',
  hint_failures_total: 'Attempts to send hints that failed, by queue.',
  heartbeats_total: 'Heartbeats written, by outcome.',
  figure_reads_total: 'Reads of the figures of plans, by outcome.',
};

/** Makes an empty set of metrics. */
export function createMetrics(): Metrics {
  const counters = new Map<string, Map<string, number>>();
  const gauges = new Map<string, { readonly help: string; readonly read: () => number }>();

  function add(name: string, labels: Readonly<Record<string, string>> = {}, value = 1): void {
    const series = counters.get(name) ?? new Map<string, number>();
    counters.set(name, series);
    const key = renderLabels(labels);
    series.set(key, (series.get(key) ?? 0) + value);
  }

  function render(): string {
    const usage = process.cpuUsage();
    const lines = [
      '# HELP process_resident_memory_bytes Resident memory size in bytes.',
      '# TYPE process_resident_memory_bytes gauge',
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
      '# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.',
      '# TYPE process_cpu_seconds_total counter',
      `process_cpu_seconds_total ${(usage.user + usage.system) / 1e6}`,
      '# HELP process_start_time_seconds Start time of the process since the epoch in seconds.',
      '# TYPE process_start_time_seconds gauge',
      `process_start_time_seconds ${Math.floor(performance.timeOrigin / 1_000)}`,
    ];
    for (const [name, series] of counters) {
      lines.push(`# HELP ${metricsPrefix}${name} ${help[name] ?? name}`, `# TYPE ${metricsPrefix}${name} counter`);
      for (const [labels, value] of series) {
        lines.push(`${metricsPrefix}${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
      }
    }
    for (const [name, gauge] of gauges) {
      lines.push(`# HELP ${metricsPrefix}${name} ${gauge.help}`, `# TYPE ${metricsPrefix}${name} gauge`);
      lines.push(`${metricsPrefix}${name} ${gauge.read()}`);
    }
    return `${lines.join('\n')}\n`;
  }

  return { add, gauge: (name, text, read) => void gauges.set(name, { help: text, read }), render };
}
