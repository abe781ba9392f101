import { describe, expect, test } from 'vitest';
import type { SchedulingPolicy } from '../../../../shared/core/model/provisioning-input.ts';
import { requirement } from '../../../kit/core/build.ts';
import {
  key,
  machines,
  ours,
  pod,
  poolWith,
  replicas,
  schedule,
  spreadOver,
  web,
  z1,
  z2,
  z3,
  type PodParts,
} from '../kit/kit.ts';

/** Karpenter's scenarios F13 and F14: the spread that pods have when they ask for none. */

const of = (kind: string, uid: string): PodParts => ({ owner: { apiVersion: 'apps/v1', kind, name: uid, uid } });
const revision = of('ReplicaSet', 'web-1');
const strict = { maxSkew: 1, topologyKey: key.zone, whenUnsatisfiable: 'DoNotSchedule' };
const zonal: Partial<SchedulingPolicy> = { defaultSpread: [strict] };
const anyway: Partial<SchedulingPolicy> = { defaultSpread: [{ ...strict, whenUnsatisfiable: 'ScheduleAnyway' }] };
const full = (name: string, zone: string) =>
  ours(name, { allocatable: { cpu: '0', memory: '0', pods: 0 }, labels: { [key.zone]: zone } });
const twoZones = [poolWith('default', requirement(key.zone, 'In', z1, z2))];

describe('the default spread', () => {
  test('balances the pods of a controller over zones [F13]', () => {
    expect(schedule({ policy: zonal, pods: replicas(6, 'web', revision) }).perZone('web')).toEqual([2, 2, 2]);
  });

  test('can be over hosts [F13]', () => {
    const policy = { defaultSpread: [{ ...strict, topologyKey: key.host }] };
    expect(schedule({ policy, pods: replicas(3, 'web', revision) }).perPlace('web')).toEqual([1, 1, 1]);
  });

  test('is not given to a pod that has a spread of its own, of whatever kind [F13]', () => {
    const own = { ...revision, labels: web, topologySpreadConstraints: [spreadOver(key.host, { maxSkew: 9 })] };
    expect(schedule({ policy: zonal, pods: replicas(6, 'web', own) }).perPlace('web')).toEqual([6]);
  });

  test('carries minDomains [F13]', () => {
    const policy = { defaultSpread: [{ ...strict, minDomains: 3 }] };
    const outcome = schedule({ policy, pools: twoZones, pods: replicas(4, 'web', revision) });
    expect([outcome.perZone('web'), outcome.left.length]).toEqual([[1, 1], 2]);
  });

  test('with DoNotSchedule leaves what would be uneven, with ScheduleAnyway gives way [F13]', () => {
    const there = machines(full('n', z3));
    const pods = replicas(4, 'web', revision);
    expect(schedule({ ...there, policy: zonal, pools: twoZones, pods }).left).toHaveLength(2);
    expect(schedule({ ...there, policy: anyway, pools: twoZones, pods }).left).toEqual([]);
  });

  test('with ScheduleAnyway is met where it can be [F13]', () => {
    expect(schedule({ policy: anyway, pods: replicas(6, 'web', revision) }).perZone('web')).toEqual([2, 2, 2]);
  });

  test('is nothing when none is set [F13]', () => {
    expect(schedule({ pods: replicas(6, 'web', revision) }).perPlace('web')).toEqual([6]);
  });

  test.each([
    ['has no controller', {}],
    ['belongs to a Job', of('Job', 'job')],
    ['belongs to something else', of('Rollout', 'rollout')],
  ])('is not given to a pod that %s [F13] [F14]', (_, parts) => {
    expect(schedule({ policy: zonal, pods: replicas(6, 'web', parts) }).perPlace('web')).toEqual([6]);
  });

  test('counts the pods of the controller that run, and no others [F13]', () => {
    const nodes = machines(full('n0', z1), full('n1', z2), full('n2', z3));
    const running = [
      pod('r0', { ...revision, on: 'n0' }),
      pod('r1', { ...revision, on: 'n1' }),
      pod('other', { ...of('ReplicaSet', 'other'), on: 'n2' }),
      pod('bare', { on: 'n2' }),
    ];
    const outcome = schedule({ ...nodes, policy: zonal, pods: [...running, pod('web', revision)] });
    expect(outcome.claimOf('web').offering.zone).toBe(z3);
  });

  test('is for each workload, and for each revision of one, by itself [F13]', () => {
    const policy = { defaultSpread: [{ ...strict, topologyKey: key.host }] };
    const of2 = (uid: string) => ({ ...of('ReplicaSet', uid), labels: web });
    const outcome = schedule({ policy, pods: [...replicas(2, 'a', of2('a')), ...replicas(2, 'b', of2('b'))] });
    expect([outcome.claims.length, outcome.perPlace('a'), outcome.perPlace('b')]).toEqual([2, [1, 1], [1, 1]]);
  });

  test.each(['ReplicaSet', 'StatefulSet', 'ReplicationController'])('is given to the pods of a %s [F14]', (kind) => {
    expect(schedule({ policy: zonal, pods: replicas(3, 'web', of(kind, 'w')) }).perZone('web')).toEqual([1, 1, 1]);
  });

  test('leaves what is written in the pods as it is: selectors of others see no label more [F14]', () => {
    const averse = pod('db', {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: key.zone, labelSelector: { matchExpressions: [{ key: 'uid', operator: 'Exists' }] } },
          ],
        },
      },
    });
    const outcome = schedule({ policy: zonal, pods: [averse, ...replicas(3, 'web', revision)] });
    expect([outcome.left, outcome.perZone('web')]).toEqual([[], [1, 1, 1]]);
  });

  test('is a preference like others: PreferencePolicy Ignore drops ScheduleAnyway and keeps DoNotSchedule [F13]', () => {
    const pods = replicas(6, 'web', revision);
    expect(schedule({ policy: { ...anyway, preferencePolicy: 'Ignore' }, pods }).perPlace('web')).toEqual([6]);
    expect(schedule({ policy: { ...zonal, preferencePolicy: 'Ignore' }, pods }).perZone('web')).toEqual([2, 2, 2]);
  });
});
