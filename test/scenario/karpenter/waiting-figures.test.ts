import { describe, expect, test } from 'vitest';
import { instant } from '../../../shared/core/quantity/units.ts';
import { countWaiting } from '../../../shared/core/telling/effective-zones.ts';
import { requirement } from '../../kit/core/build.ts';
import {
  apart,
  key,
  machines,
  near,
  ours,
  pod,
  poolWith,
  prefers,
  replicas,
  requires,
  requiresAny,
  schedule,
  spreadOver,
  term,
  toInput,
  web,
  wouldBe,
  z1,
  z2,
  z3,
  type PodParts,
  type Situation,
} from './kit/kit.ts';

/**
 * Karpenter's scenarios of section I, 15: what its metrics say of pods that wait. Their names and buckets:
 * test/unit/relay.
 */

const inZone = (...zones: ReadonlyArray<string>) => requirement(key.zone, 'In', ...zones);
const notInZone = (...zones: ReadonlyArray<string>) => requirement(key.zone, 'NotIn', ...zones);
const spread = (more: Parameters<typeof spreadOver>[1] = {}): PodParts => ({
  labels: web,
  topologySpreadConstraints: [spreadOver(key.zone, more)],
});
/** A node without room in each zone. */
const full = (name: string, zone: string) =>
  ours(name, { allocatable: { cpu: '0', memory: '0', pods: 0 }, labels: { [key.zone]: zone } });
const THREE = machines(full('n0', z1), full('n1', z2), full('n2', z3));
/** Running pods labelled `web`, so many per zone. */
const running = (...counts: ReadonlyArray<number>) =>
  counts.flatMap((count, zone) => replicas(count, `there-${zone}`, { labels: web, on: `n${zone}` }));

const mounts = (...claims: ReadonlyArray<string>): PodParts => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});
/** Claims `in-1`, `in-2` and `in-3`, bound to volumes of these zones, and `any`, whose class makes volumes in two. */
const DISKS: Partial<Situation> = {
  persistentVolumes: [z1, z2, z3].map((zone, index) => ({
    metadata: { name: `pv-${index + 1}` },
    spec: { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [inZone(zone)] }] } } },
  })),
  persistentVolumeClaims: [
    ...[1, 2, 3].map((zone) => ({
      metadata: {
        name: `in-${zone}`,
        namespace: 'default',
        annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
      },
      spec: { volumeName: `pv-${zone}` },
      status: { phase: 'Bound' },
    })),
    { metadata: { name: 'any', namespace: 'default' }, spec: { storageClassName: 'two' } },
  ],
  storageClasses: [
    {
      metadata: { name: 'two' },
      provisioner: 'disk.csi.azure.com',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: key.zone, values: [z1, z2] }] }],
    },
  ],
};

/** What is counted, the plan of it audited on the way. */
function counted(situation: Situation) {
  const outcome = schedule(situation);
  const { pending, ignored, byZone } = countWaiting(toInput(situation), instant(situation.now ?? 0));
  return { pending, ignored, left: outcome.left.length, zones: Object.fromEntries(byZone) };
}

const zonesOf = (parts: PodParts, situation: Partial<Situation> = {}) =>
  counted({ ...situation, pods: [...(situation.pods ?? []), pod('one', parts)] }).zones;

describe('the effective zone of a pod that waits [I15]', () => {
  test.each<[string, PodParts, string]>([
    ['names no zone', {}, 'flexible'],
    ['selects one', { nodeSelector: { [key.zone]: z2 } }, z2],
    [
      'selects one by the old name of the label',
      { nodeSelector: { 'failure-domain.beta.kubernetes.io/zone': z2 } },
      z2,
    ],
    ['requires one of one', requires(inZone(z3)), z3],
    ['requires one of several', requires(inZone(z1, z2)), 'flexible'],
    ['requires what leaves one', requires(inZone(z1, z2), notInZone(z2)), z1],
    ['requires what leaves none', { nodeSelector: { [key.zone]: z1 }, ...requires(inZone(z2, z3)) }, 'none'],
    ['only shuns zones', requires(notInZone(z1)), 'flexible'],
    ['only prefers one', prefers([1, inZone(z1)]), 'flexible'],
    ['may be in one or else in another', requiresAny([inZone(z1)], [inZone(z2)]), 'flexible'],
    ['may be in one either way', requiresAny([inZone(z1)], [inZone(z1, z2), notInZone(z2)]), z1],
  ])('that %s is counted so', (_, parts, zone) => {
    expect(zonesOf(parts)).toEqual({ [zone]: 1 });
  });

  test.each<[string, PodParts, string]>([
    ['its volume is in', mounts('in-2'), z2],
    ['its rules leave of those that its volume may be made in', { ...mounts('any'), ...requires(inZone(z2, z3)) }, z2],
    ['several, where its volume may be made in them', mounts('any'), 'flexible'],
    ['the bound volume leaves of them', mounts('any', 'in-1'), z1],
    ['none, where two volumes are in two zones', mounts('in-1', 'in-2'), 'none'],
    ['none, where its rules keep it from its volume', { ...mounts('in-1'), ...requires(inZone(z2)) }, 'none'],
    ['what its rules say, where a claim is not there yet', { ...mounts('lost'), ...requires(inZone(z2)) }, z2],
  ])('is %s', (_, parts, zone) => {
    expect(zonesOf(parts, DISKS)).toEqual({ [zone]: 1 });
  });

  test.each<[string, ReadonlyArray<number>, PodParts, string]>([
    ['all are even', [1, 1, 1], spread(), 'flexible'],
    ['two zones have fewer', [1, 0, 0], spread(), 'flexible'],
    ['one zone has fewer', [1, 1, 0], spread(), z3],
    ['its rules keep it from the zone that has fewer', [2, 2, 0], { ...spread(), ...mounts('in-1') }, 'none'],
    ['its rules make other zones not count', [2, 1, 0], { ...spread(), ...requires(inZone(z1, z2)) }, z2],
    ['there are fewer zones than it asks for', [1, 1, 1], spread({ minDomains: 4 }), 'none'],
    ['it is a wish', [1, 1, 0], spread({ whenUnsatisfiable: 'ScheduleAnyway' }), 'flexible'],
    ['it is over hosts', [1, 1, 0], { labels: web, topologySpreadConstraints: [spreadOver(key.host)] }, 'flexible'],
  ])('of a spread where %s', (_, counts, parts, zone) => {
    expect(zonesOf(parts, { ...THREE, ...DISKS, pods: running(...counts) })).toEqual({ [zone]: 1 });
  });

  test.each<[string, ReadonlyArray<number>, PodParts, string]>([
    ['the only one with pods that it must be near', [0, 1, 0], near(term(key.zone, web)), z2],
    ['any with such pods', [1, 1, 0], near(term(key.zone, web)), 'flexible'],
    ['none, where no such pods are', [], near(term(key.zone, web)), 'none'],
    ['any, for the first of pods that seek each other', [], { labels: web, ...near(term(key.zone, web)) }, 'flexible'],
    ['the only one without pods that it must be apart from', [1, 0, 1], apart(term(key.zone, web)), z2],
    ['none, where they are everywhere', [1, 1, 1], apart(term(key.zone, web)), 'none'],
    ['any, where it only wishes to be near them', [1, 0, 0], wouldBe('near', term(key.zone, web)), 'flexible'],
  ])('is %s', (_, counts, parts, zone) => {
    expect(zonesOf(parts, { ...THREE, pods: running(...counts) })).toEqual({ [zone]: 1 });
  });

  test('pods that are being deleted do not count for spreads', () => {
    const leaving = pod('leaves', { labels: web, on: 'n2', facts: { deleting: true } });
    expect(zonesOf(spread(), { ...THREE, pods: [...running(1, 1, 0), leaving] })).toEqual({ [z3]: 1 });
  });

  test('who must be near pods that wait as well can go wherever these go', () => {
    const seen = counted({ pods: [pod('first', { labels: web }), pod('follows', near(term(key.zone, web)))] });
    expect(seen).toMatchObject({ pending: 2, zones: { flexible: 2 } });
  });

  test('does not depend on what pools offer now: the plan says what is missing', () => {
    const pools = [poolWith('default', inZone(z1))];
    expect(zonesOf({ nodeSelector: { [key.zone]: z2 } }, { pools })).toEqual({ [z2]: 1 });
    expect(zonesOf({}, { pools: [] })).toEqual({ flexible: 1 });
    expect(zonesOf({ ...spread(), ...apart(term(key.zone, web)) }, { pools: [] })).toEqual({ flexible: 1 });
  });
});

describe('pods that wait are counted [I15]', () => {
  test('once each, by effective zone; those that run, or whose node is going, wait for nothing yet', () => {
    const seen = counted({
      ...machines(ours('n'), ours('gone', { deleting: true })),
      pods: [
        ...replicas(3, 'any'),
        ...replicas(2, 'pinned', { nodeSelector: { [key.zone]: z1 } }),
        pod('torn', { nodeSelector: { [key.zone]: z1 }, ...requires(inZone(z2)) }),
        pod('runs', { on: 'n', nodeSelector: { [key.zone]: z1 } }),
        pod('moves', { on: 'gone' }),
        pod('leaves', { facts: { deleting: true } }),
      ],
    });
    expect(seen).toEqual({ pending: 6, ignored: 0, left: 1, zones: { flexible: 3, [z1]: 2, none: 1 } });
  });

  test('apart from those that ask for a node of no pool, which are ignored and not unschedulable', () => {
    const nobodys = requires({ key: key.pool, operator: 'DoesNotExist' });
    const seen = counted({ pods: [pod('mine'), ...replicas(2, 'other', nobodys), pod('large', { cpu: '500' })] });
    expect(seen).toEqual({ pending: 2, ignored: 2, left: 1, zones: { flexible: 2 } });
  });
});
