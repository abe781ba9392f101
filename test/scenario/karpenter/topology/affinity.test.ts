import { describe, expect, test } from 'vitest';
import { requirement } from '../../../kit/core/build.ts';
import {
  ARM,
  apart,
  D2,
  key,
  machines,
  near,
  ours,
  pod,
  poolWith,
  replicas,
  requires,
  schedule,
  term,
  web,
  wouldBe,
  z1,
  z2,
  z3,
} from '../kit/kit.ts';

/** Karpenter's scenarios of section G: pod affinity and anti-affinity. */

const db = { app: 'db' };
const full = (name: string, zone: string) =>
  ours(name, { allocatable: { cpu: '0', memory: '0', pods: 0 }, labels: { [key.zone]: zone } });

describe('affinity', () => {
  test('empty lists of terms are no rules [G01]', () => {
    const empty = {
      requiredDuringSchedulingIgnoredDuringExecution: [],
      preferredDuringSchedulingIgnoredDuringExecution: [],
    };
    const affinity = {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
      podAffinity: empty,
      podAntiAffinity: empty,
    };
    expect(schedule({ pods: replicas(3, 'a', { affinity }) }).perPlace('a')).toEqual([3]);
  });

  test('a pod that must be on the host of another shares its node [G02]', () => {
    const outcome = schedule({ pods: [pod('web', { labels: web, cpu: '1' }), pod('db', near(term(key.host, web)))] });
    expect(outcome.placeOf('db')).toBe(outcome.placeOf('web'));
  });

  test('a pod that must be near another by architecture gets that one [G02]', () => {
    const outcome = schedule({
      types: [D2, ARM],
      pods: [
        pod('web', { labels: web, cpu: '1900m', nodeSelector: { [key.arch]: 'amd64' } }),
        pod('db', { cpu: '1900m', ...near(term(key.arch, web)) }),
      ],
    });
    expect(outcome.claimOf('db').offering.instanceType).toBe('Standard_D2s_v5');
  });

  test('pods that must be with each other by host are on one node, and what it does not hold is left [G02]', () => {
    const together = { labels: web, cpu: '1', ...near(term(key.host, web)) };
    expect(schedule({ pods: replicas(6, 'web', together) }).perPlace('web')).toEqual([6]);
    const many = schedule({ pods: replicas(12, 'web', together) });
    expect([many.perPlace('web'), many.left.length]).toEqual([[8], 4]);
  });

  test('when such pods run somewhere, only there may more of them go [G02]', () => {
    const together = { labels: web, ...near(term(key.host, web)) };
    const outcome = schedule({
      ...machines(full('n', z1)),
      pods: [pod('there', { labels: web, on: 'n' }), pod('web', together)],
    });
    expect(outcome.left).toEqual(['web']);
  });

  test.each([
    ['no zone named', {}, [10]],
    ['a zone named', requires(requirement(key.zone, 'In', z3)), [10]],
  ])('pods that must be with each other by zone are in one, %s [G02]', (_, rule, expected) => {
    const nodeAffinity = 'affinity' in rule ? rule.affinity : {};
    const together = { labels: web, cpu: '1', affinity: { ...nodeAffinity, ...near(term(key.zone, web)).affinity } };
    const outcome = schedule({ pods: replicas(10, 'web', together) });
    expect(outcome.perZone('web')).toEqual(expected);
    if ('affinity' in rule) expect(new Set(outcome.claims.map(({ offering }) => offering.zone))).toEqual(new Set([z3]));
  });

  test('pods with the same affinity whose selectors exclude each other may be on two nodes [G03]', () => {
    const wants = (zone: string) => ({ nodeSelector: { [key.zone]: zone }, ...near(term(key.zone, web)) });
    const outcome = schedule({
      pods: [
        pod('web-1', { labels: web, nodeSelector: { [key.zone]: z1 } }),
        pod('web-2', { labels: web, nodeSelector: { [key.zone]: z2 } }),
        pod('a', wants(z1)),
        pod('b', wants(z2)),
      ],
    });
    expect([outcome.left, outcome.placeOf('a'), outcome.placeOf('b')]).toEqual([
      [],
      outcome.placeOf('web-1'),
      outcome.placeOf('web-2'),
    ]);
  });

  test.each([
    ['near', 'to be near pods that do not exist', wouldBe('near', term(key.host, db))],
    ['apart', 'to be apart from pods of its own kind in the only zone', wouldBe('apart', term(key.zone, web))],
  ])('a preference %s, %s, gives way [G04]', (_, __, rule) => {
    const pools = [poolWith('default', requirement(key.zone, 'In', z1))];
    expect(schedule({ pools, pods: replicas(3, 'web', { labels: web, ...rule }) }).left).toEqual([]);
  });
});

describe('anti-affinity', () => {
  test('pods that must be apart by host get a node each [G05]', () => {
    expect(
      schedule({ pods: replicas(4, 'web', { labels: web, ...apart(term(key.host, web)) }) }).perPlace('web'),
    ).toEqual([1, 1, 1, 1]);
  });

  test('pods that must be apart by architecture get one each, and the third is left [G05]', () => {
    const outcome = schedule({
      types: [D2, ARM],
      pods: replicas(3, 'web', { labels: web, ...apart(term(key.arch, web)) }),
    });
    expect([outcome.perPlace('web'), outcome.left.length]).toEqual([[1, 1], 1]);
  });

  test.each([
    ['the averse pod is the larger', '1', '100m'],
    ['the averse pod is the smaller', '100m', '1'],
  ])('apart by zone is never violated, in either order: %s [G05]', (_, averse, other) => {
    const zonesLeft = [poolWith('default', requirement(key.zone, 'In', z1, z2))];
    const outcome = schedule({
      pools: zonesLeft,
      pods: [
        pod('db', { cpu: averse, labels: db, ...apart(term(key.zone, web)) }),
        ...replicas(3, 'web', { cpu: other, labels: web }),
      ],
    });
    expect(outcome.left).toEqual([]);
    expect(outcome.claimOf('web-0').offering.zone).not.toBe(outcome.claimOf('db').offering.zone);
    expect(outcome.perZone('web')).toEqual([3]);
  });

  test('the aversion of a pod that runs keeps others out of its zone, wherever it is [G05] [M02]', () => {
    const there = pod('db', { labels: db, on: 'n', ...apart(term(key.zone, web)) });
    const outcome = schedule({ ...machines(full('n', z1)), pods: [there, ...replicas(2, 'web', { labels: web })] });
    expect(outcome.claims.every(({ offering }) => offering.zone !== z1)).toBe(true);
    const pools = [poolWith('default', requirement(key.zone, 'In', z1))];
    expect(schedule({ ...machines(full('n', z1)), pools, pods: [there, pod('web', { labels: web })] }).left).toEqual([
      'web',
    ]);
  });

  test('an averse pod avoids the zones that those it is averse to run in [G05]', () => {
    const nodes = machines(full('n', z1), full('m', z2));
    const outcome = schedule({
      ...nodes,
      pods: [
        pod('w1', { labels: web, on: 'n' }),
        pod('w2', { labels: web, on: 'm' }),
        pod('db', { labels: db, ...apart(term(key.zone, web)) }),
      ],
    });
    expect(outcome.claimOf('db').offering.zone).toBe(z3);
  });

  test('a pod that is apart from others by zone takes one zone and not all that it could have, so the others are placed [G05]', () => {
    const outcome = schedule({
      pods: [pod('db', { cpu: '2', labels: db, ...apart(term(key.zone, web)) }), pod('web', { labels: web })],
    });
    expect(outcome.left).toEqual([]);
  });

  test('pods apart by zone fill the zones one each, and what is more is left [G05]', () => {
    const outcome = schedule({ pods: replicas(5, 'web', { labels: web, ...apart(term(key.zone, web)) }) });
    expect([outcome.perZone('web'), outcome.left.length]).toEqual([[1, 1, 1], 2]);
  });

  test('the preferred aversion of other pods binds nobody [G06]', () => {
    const there = pod('db', { labels: db, on: 'n', ...wouldBe('apart', term(key.zone, web)) });
    const pools = [poolWith('default', requirement(key.zone, 'In', z1))];
    const outcome = schedule({ ...machines(full('n', z1)), pools, pods: [there, pod('web', { labels: web })] });
    expect(outcome.left).toEqual([]);
  });
});

describe('pods that depend on pods', () => {
  test('affinity to a pod that does not exist leaves the pod [G07]', () => {
    expect(schedule({ pods: [pod('a', near(term(key.zone, web)))] }).rulesFor('a')).toEqual(['pod-affinity']);
  });

  test.each([
    ['with a zone of its own', { nodeSelector: { [key.zone]: z2 } }],
    ['that may be anywhere', {}],
  ])('affinity to a pod of the same batch %s is met [G07]', (_, rule) => {
    const outcome = schedule({
      pods: [
        pod('web', { labels: web, cpu: '100m', ...rule }),
        ...replicas(9, 'a', { cpu: '1', ...near(term(key.zone, web)) }),
      ],
    });
    expect(outcome.left).toEqual([]);
    expect(outcome.perZone('').at(0)).toBe(10);
  });

  const link = (name: string, to: string) => pod(name, { labels: { app: name }, ...near(term(key.zone, { app: to })) });

  test('a chain of affinities is followed to its end [G07]', () => {
    const outcome = schedule({
      pods: [
        link('a', 'b'),
        link('b', 'c'),
        link('c', 'd'),
        pod('d', { labels: { app: 'd' }, nodeSelector: { [key.zone]: z3 } }),
      ],
    });
    expect([outcome.left, outcome.perZone('')]).toEqual([[], [4]]);
  });

  test('a chain whose last pod does not exist is left whole [G07]', () => {
    expect(schedule({ pods: [link('a', 'b'), link('b', 'c'), link('c', 'd')] }).left).toEqual(['a', 'b', 'c']);
  });

  const namespaces = [
    { metadata: { name: 'default', labels: {} } },
    { metadata: { name: 'other', labels: { team: 'x' } } },
  ];
  test.each([
    ['nothing said: its own', {}, false],
    ['a list with it', { namespaces: ['other'] }, true],
    ['a list without it', { namespaces: ['third'] }, false],
    ['a selector that selects it', { namespaceSelector: { matchLabels: { team: 'x' } } }, true],
    ['an empty selector: all', { namespaceSelector: {} }, true],
    ['a selector that selects none', { namespaceSelector: { matchLabels: { team: 'none' } } }, false],
    [
      'a list with it and a selector that selects none',
      { namespaces: ['other'], namespaceSelector: { matchLabels: { team: 'none' } } },
      true,
    ],
  ])('namespaces that a term looks into, %s [G08]', (_, where, found) => {
    const rule = near({ ...term(key.zone, web), ...where });
    const outcome = schedule({ namespaces, pods: [pod('web', { labels: web, namespace: 'other' }), pod('a', rule)] });
    expect(outcome.left).toEqual(found ? [] : ['a']);
  });
});
