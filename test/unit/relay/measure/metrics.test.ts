import { expect, test } from 'vitest';
import { createMetrics } from '../../../../relay/measure/metrics.ts';

const own = (text: string): ReadonlyArray<string> =>
  text.split('\n').filter((line) => line.includes('nodewright_relay_'));

test('counts add up by name and labels, each name with its help and type', () => {
  const metrics = createMetrics();
  metrics.add('lists_total', { resource: 'nodes' });
  metrics.add('lists_total', { resource: 'nodes' });
  metrics.add('lists_total', { resource: 'pods' }, 3);
  metrics.add('unheard_of_total');
  expect(own(metrics.render())).toEqual([
    '# HELP nodewright_relay_lists_total Lists that were read to their end, by resource.',
    '# TYPE nodewright_relay_lists_total counter',
    'nodewright_relay_lists_total{resource="nodes"} 2',
    'nodewright_relay_lists_total{resource="pods"} 3',
    '# HELP nodewright_relay_unheard_of_total unheard_of_total',
    '# TYPE nodewright_relay_unheard_of_total counter',
    'nodewright_relay_unheard_of_total 1',
  ]);
});

test('a gauge is what it is when it is asked for', () => {
  const metrics = createMetrics();
  let pods = 1;
  metrics.gauge('pods', 'Pods now.', () => pods);
  metrics.render();
  pods = 2;
  expect(own(metrics.render())).toEqual([
    '# HELP nodewright_relay_pods Pods now.',
    '# TYPE nodewright_relay_pods gauge',
    'nodewright_relay_pods 2',
  ]);
});

test('the process is told of as Prometheus’ own clients tell of theirs', () => {
  const text = createMetrics().render();
  const value = (name: string): number => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(2 ** 20);
  const { user, system } = process.cpuUsage();
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(value('process_cpu_seconds_total')).toBeLessThanOrEqual((user + system) / 1e6);
  expect(value('process_start_time_seconds')).toBe(Math.floor(performance.timeOrigin / 1_000));
  expect(text.endsWith('\n')).toBe(true);
});
