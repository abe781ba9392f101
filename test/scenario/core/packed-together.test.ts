import { expect, test } from 'vitest';
import type { PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { input, offering, onDemand, pods, pool, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';
import { planned } from '../../kit/core/render.ts';

/**
 * Pods with rules about each other that are packed with all others: what takes host ports, what must be in one zone,
 * and what no zone may have two of. Placed one by one, each opens nodes that suit itself, and others find no room on
 * them.
 */

const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
const D4 = size('Standard_D4s_v5', 4, 16, 190_000);
const zone = 'topology.kubernetes.io/zone';

type Parts = Parameters<typeof input>[0];

function plan(parts: Parts): ReadonlyArray<string> {
  return planned(input({ types: [D2, D4], nodePools: [pool('a')], ...parts }));
}

const term = (app: string) => ({ topologyKey: zone, labelSelector: { matchLabels: { app } } });

function onPort(...ports: ReadonlyArray<number>): Partial<PodSpec> {
  const resources = { requests: { cpu: '1', memory: '1Gi' } };
  return { containers: [{ name: 'c', resources, ports: ports.map((hostPort) => ({ hostPort })) }] };
}

/** The shapes of the pods on a node, as a line of a plan has it. */
function shapesIn(line: string): ReadonlyArray<string> {
  return [...line.matchAll(/s(?<shape>\d+)-/g)]
    .map(({ groups }) => groups?.['shape'] ?? '')
    .toSorted((a, b) => Number(a) - Number(b));
}

/** The nodes of a plan, each as the shapes of its pods. */
function shapesOn(lines: ReadonlyArray<string>): ReadonlyArray<string> {
  const launched = lines.filter((line) => line.startsWith('launch'));
  return launched.map((line) => shapesIn(line).join('')).toSorted();
}

test('pods that take a host port share their nodes with others, and with none that takes it too', () => {
  const shapes = [
    shape(spec('1', '1Gi', onPort(80))),
    shape(spec('1', '1Gi', onPort(80, 443))),
    shape(spec('2', '2Gi')),
  ];
  const lines = plan({ shapes, pods: [...pods(0, 2), ...pods(1, 1), ...pods(2, 3)] });
  // One of those that take port 80 on each of three nodes, each with one of the others.
  expect(shapesOn(lines)).toEqual(['02', '02', '12']);
});

test('with more shared ports than are counted, no two pods on one node take the same', () => {
  const numbers = Array.from({ length: 9 }, (_, index) => 8_000 + index);
  const shapes = [...numbers, ...numbers].map((port) => shape(spec('100m', '100Mi', onPort(port))));
  const lines = plan({ shapes, pods: shapes.flatMap((_, index) => pods(index, 1)) });
  const launched = lines.filter((line) => line.startsWith('launch'));
  for (const line of launched) {
    const taken = shapesIn(line).map((one) => Number(one) % numbers.length);
    expect(new Set(taken).size).toBe(taken.length);
  }
  expect(launched.flatMap(shapesIn)).toHaveLength(18);
});

test('pods that must be in one zone fill its nodes as others do', () => {
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('x')] } };
  const lines = plan({
    shapes: [shape(spec('1', '2Gi', { affinity }), { app: 'x' })],
    pods: pods(0, 8),
  });
  expect(shapesOn(lines)).toEqual(['0000', '0000']);
});

test('of two workloads that must each be in one zone, what one leaves free the other uses', () => {
  const together = (app: string) =>
    shape(
      spec('1', '2Gi', { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } } }),
      {
        app,
      },
    );
  const lines = plan({ shapes: [together('x'), together('y')], pods: [...pods(0, 2), ...pods(1, 2)] });
  expect(shapesOn(lines)).toEqual(['0011']);
});

test('pods of which no zone may have two are one in each, beside others, and one that finds no zone is left', () => {
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('db')] } };
  const db = shape(spec('2', '4Gi', { affinity }), { app: 'db' });
  const lines = plan({ shapes: [db, shape(spec('2', '4Gi'))], pods: [...pods(0, 4), ...pods(1, 3)] });
  expect(shapesOn(lines)).toEqual(['01', '01', '01']);
  expect(lines.filter((line) => !line.startsWith('launch'))).toHaveLength(1);
});

test('pods of a zone that each have a node for themselves share one that costs no more', () => {
  const spread = [
    { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'x' } } },
  ];
  const types = [D2, size('Standard_D4s_v5', 4, 16, 200_000)];
  const one = shape(spec('1500m', '2Gi', { topologySpreadConstraints: spread }), { app: 'x' });
  expect(shapesOn(plan({ types, shapes: [one], pods: pods(0, 6) }))).toEqual(['00', '00', '00']);
});

const apartIn = (app: string): Partial<PodSpec> => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } },
});
const together = (app: string): Partial<PodSpec> => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } },
});

/** Of every launch: where, and the shapes of its pods. */
function zonesOf(lines: ReadonlyArray<string>): ReadonlyArray<string> {
  return lines
    .filter((line) => line.startsWith('launch'))
    .map((line) => `${/westeurope-\d/.exec(line)?.[0] ?? ''} ${shapesOn([line]).join('')}`)
    .toSorted();
}

/** D2 as it is, but at this price in each zone. */
const pricedByZone = (...prices: ReadonlyArray<number>) => ({
  ...D2,
  offerings: prices.map((price, index) => offering(zones[index] ?? '', 'on-demand', price)),
});

test('a single pod that no zone may have two of is packed with others wherever they are', () => {
  const pinned = shape(spec('1', '1Gi', { nodeSelector: { [zone]: zones[1] } }));
  for (const rule of [apartIn, together]) {
    const shapes = [pinned, shape(spec('1', '1Gi', rule('single')), { app: 'single' })];
    expect(zonesOf(plan({ shapes, pods: [...pods(0, 1), ...pods(1, 1)] }))).toEqual(['westeurope-2 01']);
  }
});

test('what its zone is stands fast for a single pod that no zone may have two of: one that comes later heeds it', () => {
  // Of lower priority, and so planned after it, in a pool with limits.
  const labels = { app: 'web' };
  const shapes = [
    shape(spec('1500m', '1Gi', { ...apartIn('web'), priority: 10 }), labels),
    shape(spec('1500m', '1Gi', { ...apartIn('web'), priority: 1 }), labels),
  ];
  const nodePools = [pool('a', { limits: { cpu: '100' } })];
  const lines = plan({ shapes, nodePools, pods: [...pods(0, 1), ...pods(1, 2)] });
  expect(zonesOf(lines).map((line) => line.split(' ')[0])).toEqual([...zones]);
});

test('pods of which no zone may have two are in the cheapest zones', () => {
  const shapes = [shape(spec('1', '1Gi', apartIn('web')), { app: 'web' })];
  const types = [pricedByZone(300_000, 100_000, 200_000)];
  expect(zonesOf(plan({ types, shapes, pods: pods(0, 2) }))).toEqual(['westeurope-2 0', 'westeurope-3 0']);
});

test('odd pods of a spread are in the cheapest zones', () => {
  const topologySpreadConstraints = [
    {
      maxSkew: 1,
      topologyKey: zone,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ];
  const shapes = [shape(spec('1', '1Gi', { ...onPort(80), topologySpreadConstraints }), { app: 'web' })];
  const types = [pricedByZone(110_000, 320_000, 80_000)];
  expect(zonesOf(plan({ types, shapes, pods: pods(0, 2) }))).toEqual(['westeurope-1 0', 'westeurope-3 0']);
});

test('pods that must be in one zone are where pods are that can be in no other', () => {
  const shapes = [
    shape(spec('0', '100Mi', { nodeSelector: { [zone]: zones[2] } })),
    shape(spec('500m', '1Gi', together('web')), { app: 'web' }),
    // These can be anywhere.
    shape(spec('3', '3Gi')),
  ];
  const lines = plan({ shapes, pods: [...pods(0, 2), ...pods(1, 2), ...pods(2, 2)] });
  expect(zonesOf(lines)).toContain('westeurope-3 00112');
});

test('pods that must be in one zone are where the pool of most weight has one, however cheap others are', () => {
  const nodePools = [
    pool('heavy', { weight: 10, requirements: [onDemand, requirement(zone, 'In', zones[2])] }),
    pool('light'),
  ];
  const shapes = [shape(spec('1', '1Gi', together('web')), { app: 'web' })];
  const types = [pricedByZone(100_000, 100_000, 300_000)];
  expect(zonesOf(plan({ types, nodePools, shapes, pods: pods(0, 2) }))).toEqual(['westeurope-3 00']);
});
