import { describe, expect, test } from 'vitest';
import { crowdsIn } from '../../../../../shared/core/disruption/steps/crowds.ts';
import type { Pod, PodShape } from '../../../../../shared/core/model/cluster.ts';
import { shape, spec } from '../../../../kit/core/build.ts';
import { on } from '../../../../kit/core/build-disruption.ts';

/**
 * Which pods of a step may be as many on a new host as they were on an old one: their spread over hosts counts the old
 * ones as empty for as long as these are there.
 */

type Spread = Readonly<Record<string, unknown>>;

function spreading(app: string, ...spreads: ReadonlyArray<Spread>): PodShape {
  const usual = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' };
  const topologySpreadConstraints = spreads.map((one) => ({
    ...usual,
    labelSelector: { matchLabels: { app } },
    ...one,
  }));
  return shape(spec('500m', '1Gi', { topologySpreadConstraints }), { app });
}

const web = spreading('web', {});

/** `counts` pods of shape 0 on hosts a, b and so on. */
function pods(...counts: ReadonlyArray<number>): ReadonlyArray<Pod> {
  return counts.flatMap((count, index) => on('abcdef'.charAt(index), 0, count));
}

interface Given {
  readonly pods: ReadonlyArray<Pod>;
  readonly shapes?: ReadonlyArray<PodShape>;
  readonly reason?: 'Drifted' | 'Expired' | 'Unhealthy' | 'Underutilized' | 'StaticSurplus';
  readonly remove?: ReadonlyArray<string>;
  /** Where the pods of a host go, by its name; as many hosts as go, unless said. */
  readonly homes?: Readonly<Record<string, string>>;
}

function crowds({ pods: all, shapes = [web], reason = 'Drifted', remove = ['a', 'b'], homes = {} }: Given) {
  const moves = all.flatMap(({ uid, name, nodeName }) =>
    nodeName !== null && remove.includes(nodeName)
      ? [{ pod: name, uid, from: nodeName, to: { kind: 'claim', name: homes[nodeName] ?? `new-${nodeName}` } as const }]
      : [],
  );
  return Object.fromEntries(crowdsIn({ reason, remove, moves }, { pods: all, shapes }));
}

describe('pods that go together to new hosts', () => {
  test.each(['Drifted', 'Expired', 'Unhealthy'] as const)(
    'may be as many on one as they are, where their node must go: %s',
    (reason) => {
      expect(crowds({ pods: pods(2, 2), reason })).toEqual({ 0: 2 });
    },
  );

  test.each(['Underutilized', 'StaticSurplus'] as const)(
    'wait for nobody where their node need not be followed: %s',
    (reason) => {
      expect(crowds({ pods: pods(2, 2), reason })).toEqual({});
    },
  );

  test('may be no more on one than there are when they are even, whichever host had more', () => {
    expect(crowds({ pods: pods(4, 2) })).toEqual({ 0: 3 });
    expect(crowds({ pods: pods(4, 1) })).toEqual({ 0: 3 });
    expect(crowds({ pods: pods(3), remove: ['a'] })).toEqual({ 0: 3 });
  });

  test('need no more than their spread allows where no host gets more', () => {
    expect(crowds({ pods: pods(1, 1) })).toEqual({});
    expect(crowds({ pods: pods(2, 2), shapes: [spreading('web', { maxSkew: 2 })] })).toEqual({});
    expect(crowds({ pods: pods(3, 3), shapes: [spreading('web', { maxSkew: 2 })] })).toEqual({ 0: 3 });
  });

  test('are crowded by those that run on the host that they go to', () => {
    expect(crowds({ pods: pods(1, 0, 1), remove: ['a'], homes: { a: 'c' } })).toEqual({ 0: 1 });
  });

  test('are not crowded by hosts that none of them goes to', () => {
    expect(crowds({ pods: pods(1, 0, 5), remove: ['a'] })).toEqual({});
  });

  test('are as many as were on the hosts that go, whatever hosts that stay have', () => {
    expect(crowds({ pods: pods(2, 2, 5) })).toEqual({ 0: 2 });
  });

  test('are the only ones: a crowd that is on the host already, and does not move, is none of the step', () => {
    const there = on('c', 1, 2);
    const given = { pods: [...pods(1), ...there], remove: ['a'], homes: { a: 'c' } };
    expect(crowds({ ...given, shapes: [web, spreading('db', {})] })).toEqual({});
  });

  test('do not count those that are being deleted', () => {
    const dying = pods(1, 1).map((pod) => ({ ...pod, uid: `${pod.uid}-old`, deleting: true }));
    expect(crowds({ pods: [...pods(1, 1), ...dying] })).toEqual({});
  });
});

describe('what counts', () => {
  test.each<[string, Spread]>([
    ['that is a wish', { whenUnsatisfiable: 'ScheduleAnyway' }],
    ['over zones', { topologyKey: 'topology.kubernetes.io/zone' }],
  ])('is no spread %s', (_, spread) => {
    expect(crowds({ pods: pods(2, 2), shapes: [spreading('web', spread)] })).toEqual({});
  });

  test('is each pod that the spread selects, of other Deployments too', () => {
    const others = [...on('a', 1, 1), ...on('b', 1, 1)];
    const like = (app: string, parts: object = {}): PodShape => ({ ...shape(spec('1', '1Gi'), { app }), ...parts });
    expect(crowds({ pods: [...pods(1, 1), ...others], shapes: [web, like('web')] })).toEqual({ 0: 2 });
    expect(crowds({ pods: [...pods(1, 1), ...others], shapes: [web, like('other')] })).toEqual({});
    const elsewhere = like('web', { namespace: 'elsewhere' });
    expect(crowds({ pods: [...pods(1, 1), ...others], shapes: [web, elsewhere] })).toEqual({});
  });

  test('is only who fits all that a spread asks for', () => {
    const versioned = (version: string): PodShape => ({
      ...spreading('web', { matchLabelKeys: ['version'] }),
      labels: { app: 'web', version },
    });
    const all = [...pods(1, 1), ...on('a', 1, 1), ...on('b', 1, 1)];
    expect(crowds({ pods: all, shapes: [versioned('1'), versioned('2')] })).toEqual({});
    expect(crowds({ pods: all, shapes: [versioned('1'), versioned('1')] })).toEqual({ 0: 2, 1: 2 });
  });

  test('is the spread that leaves most on one host, where a pod has several', () => {
    const both = spreading('web', {}, { labelSelector: { matchLabels: { tier: 'front' } } });
    const shapes = [{ ...both, labels: { app: 'web', tier: 'front' } }, shape(spec('1', '1Gi'), { tier: 'front' })];
    const all = [...pods(2, 2), ...on('a', 1, 2), ...on('b', 1, 2)];
    expect(crowds({ pods: all, shapes })).toEqual({ 0: 4 });
    const turned = [
      { ...spreading('web', { labelSelector: { matchLabels: { tier: 'front' } } }, {}), labels: both.labels },
    ];
    expect(crowds({ pods: pods(2, 2), shapes: turned })).toEqual({ 0: 2 });
  });
});
