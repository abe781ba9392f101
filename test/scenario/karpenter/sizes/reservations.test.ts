import { describe, expect, test } from 'vitest';
import type { InstanceType } from '../../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { instant, microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { pool, requirement, spec } from '../../../kit/core/build.ts';
import {
  D2,
  D4,
  D8,
  key,
  poolWith,
  prefers,
  replicas,
  requires,
  schedule,
  toInput,
  valuesOf,
  z1,
  z2,
  type Situation,
} from '../kit/kit.ts';

/** I13: capacity that is reserved by the cloud, as offerings of type `reserved`. */

const ID = 'karpenter.azure.com/capacity-reservation-id';

function reserving(type: InstanceType, id: string, remaining: number, price = 0, zone: string = z1): InstanceType {
  const reservation = { id, remaining };
  const reserved = {
    zone,
    capacityType: 'reserved',
    price: microUsdPerHour(price),
    available: true,
    labels: {},
    reservation,
  };
  return { ...type, offerings: [...type.offerings, reserved as InstanceType['offerings'][number]] };
}

const any = requirement(key.capacityType, 'In', 'on-demand', 'reserved');
const open = pool('default', { requirements: [any] });

/** Pods of one node each of `D4`, where the reservation `r` holds so many. */
const situation = (remaining: number, count: number, parts: Partial<Situation> = {}): Situation => ({
  types: [D2, reserving(D4, 'r', remaining), D8],
  pools: [open],
  pods: replicas(count, 'p', { cpu: '4' }),
  ...parts,
});

const kinds = ({ claims }: Plan): ReadonlyArray<string> =>
  claims.map(({ offering }) => offering.reservationId ?? offering.capacityType).toSorted();

describe('reserved capacity [I13]', () => {
  test('is taken before any other, and the claim says of which reservation it is', () => {
    const { plan, claims } = schedule(situation(3, 2));
    expect(kinds(plan)).toEqual(['r', 'r']);
    for (const claim of claims) {
      expect(valuesOf(claim, key.capacityType)).toEqual(['reserved']);
      expect(valuesOf(claim, ID)).toEqual(['r']);
      expect([claim.fallbacks, claim.runnerUp]).toEqual([[], null]);
    }
    expect([plan.cost, plan.lowerBound]).toEqual([0, 0]);
  });

  test('is taken as often as the reservation has room, and what is more goes elsewhere in the same plan', () => {
    const { plan } = schedule(situation(2, 5));
    expect(kinds(plan).filter((kind) => kind === 'r')).toHaveLength(2);
    expect(plan.left).toEqual([]);
    expect(plan.lowerBound).toBeGreaterThan(0);
  });

  test('never stands in for another offering that Azure refuses, nor another for it', () => {
    const { claims } = schedule(situation(1, 2));
    for (const { offering, fallbacks } of claims) {
      expect(fallbacks.every(({ reservationId }) => reservationId === offering.reservationId)).toBe(true);
    }
  });

  test('holds many pods on one node', () => {
    const { plan, claims } = schedule(situation(5, 0, { pods: replicas(8, 'p', { cpu: '1' }) }));
    expect(kinds(plan)).toEqual(['r', 'r']);
    expect(claims.map(({ pods }) => pods.length)).toEqual([4, 4]);
  });

  test('of several reservations is taken from each as far as it goes', () => {
    const types = [reserving(D2, 'small', 1), reserving(reserving(D4, 'r', 1), 'second', 1, 0, z2), D8];
    const { plan } = schedule(situation(0, 3, { types }));
    expect(kinds(plan)).toEqual(['on-demand', 'r', 'second']);
  });

  test('is shared by pools: together they take no more than there is', () => {
    const pools = ['a', 'b'].map((name) => pool(name, { requirements: [any] }));
    const on = (name: string) => ({ cpu: '4', nodeSelector: { [key.pool]: name } });
    const pods = [...replicas(2, 'a', on('a')), ...replicas(2, 'b', on('b'))];
    expect(kinds(schedule(situation(3, 0, { pools, pods })).plan)).toEqual(['on-demand', 'r', 'r', 'r']);
  });

  test('counts as little as the least of the lists says', () => {
    const given = toInput(
      situation(3, 3, { pools: [pool('a', { requirements: [any] }), pool('b', { requirements: [any] })] }),
    );
    const catalog = new Map([...given.catalog, ['b', [reserving(D4, 'r', 1)]]]);
    const plan = planProvisioning({ ...given, catalog }, instant(0));
    expect(kinds(plan).filter((kind) => kind === 'r')).toHaveLength(1);
    expect(auditPlan(plan, { ...given, catalog })).toEqual([]);
  });

  test('is held by claims on their way that no machine has been made for yet', () => {
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const ordered = (name: string, status?: object) => ({
      metadata: { name, labels: { [key.pool]: 'default' } },
      spec: { nodeClassRef, requirements: [requirement(ID, 'In', 'r')] },
      ...(status === undefined ? {} : { status }),
    });
    const waiting = schedule(situation(2, 2, { nodeClaims: [ordered('c')] }));
    expect(kinds(waiting.plan)).toEqual(['on-demand', 'r']);
    const launched = schedule(situation(2, 2, { nodeClaims: [ordered('c', { providerID: 'azure:///c' })] }));
    expect(kinds(launched.plan)).toEqual(['r', 'r']);
  });

  test('is not looked for in a pool of less weight, where a heavier one can take the pods', () => {
    const pools = [poolWith('heavy'), pool('light', { requirements: [any] })].map((one, index) => ({
      ...one,
      spec: { ...one.spec, weight: 10 - index },
    }));
    const { claims } = schedule(situation(3, 1, { pools }));
    expect(claims.map(({ nodePool, offering }) => [nodePool, offering.capacityType])).toEqual([['heavy', 'on-demand']]);
  });

  test('that is full sends pods to no pool of less weight, while theirs can take them', () => {
    const pools = [pool('heavy', { requirements: [any], weight: 10 }), pool('light', { requirements: [any] })];
    const { plan, claims } = schedule(situation(1, 2, { pools }));
    expect(kinds(plan)).toEqual(['on-demand', 'r']);
    expect(claims.map(({ nodePool }) => nodePool)).toEqual(['heavy', 'heavy']);
  });

  test('is no reason to give a preference up, and neither is its being full', () => {
    const elsewhere = prefers([1, requirement(key.zone, 'In', z2)]);
    const pods = replicas(2, 'p', { cpu: '4', ...elsewhere });
    for (const remaining of [0, 1]) {
      const { claims } = schedule(situation(remaining, 0, { pods }));
      expect(claims.every(({ offering }) => offering.zone === z2)).toBe(true);
    }
  });

  test.each<[string, Partial<Situation>]>([
    ['a pool that does not allow it', { pools: [pool('default')] }],
    [
      'pods that ask for another capacity type',
      { pods: replicas(1, 'p', { cpu: '4', ...requires(requirement(key.capacityType, 'In', 'on-demand')) }) },
    ],
    [
      'pods that ask for a node of no reservation',
      { pods: replicas(1, 'p', { cpu: '4', ...requires({ key: ID, operator: 'DoesNotExist' }) }) },
    ],
    ['pods in another zone', { pods: replicas(1, 'p', { cpu: '4', nodeSelector: { [key.zone]: z2 } }) }],
    [
      'a pool with minValues',
      { pools: [pool('default', { requirements: [any, { key: key.type, operator: 'Exists', minValues: 1 }] })] },
    ],
    [
      'a closed gate',
      {
        policy: {
          gates: { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false },
        },
      },
    ],
  ])('is not for %s', (_, parts) => {
    expect(kinds(schedule(situation(3, 1, parts)).plan)).toEqual(['on-demand']);
  });

  test('can be asked for by its id, and a pod is left when it has no room', () => {
    const asking = { cpu: '4', nodeSelector: { [ID]: 'r' } };
    const { plan, left } = schedule(situation(1, 0, { pods: replicas(2, 'p', asking) }));
    expect([kinds(plan), left.length]).toEqual([['r'], 1]);
  });

  test('takes its share of the limits of a pool', () => {
    const pools = [pool('default', { requirements: [any], limits: { cpu: '4' } })];
    expect(schedule(situation(3, 2, { pools })).left).toHaveLength(1);
  });

  test('is no part of what a static pool is made of', () => {
    const fixed = { ...open, spec: { ...open.spec, replicas: 1 } };
    expect(kinds(schedule(situation(3, 0, { pools: [fixed] })).plan)).toEqual(['on-demand']);
  });

  test('holds the room of buffers too, after that of pods', () => {
    const { plan } = schedule(
      situation(2, 1, {
        capacityBuffers: [{ metadata: { name: 'b' }, spec: { podTemplateRef: { name: 't' }, replicas: 2 } }],
        podTemplates: [{ metadata: { name: 't' }, template: { spec: spec('4', '1Gi') } }],
      }),
    );
    expect(kinds(plan)).toEqual(['on-demand', 'r', 'r']);
    expect(plan.claims.find(({ pods }) => pods.length > 0)?.offering.reservationId).toBe('r');
  });

  test('that is dearer than another is not the choice', () => {
    const types = [D2, reserving(D4, 'r', 3, 300_000), D8];
    expect(kinds(schedule(situation(3, 1, { types })).plan)).toEqual(['on-demand']);
  });
});

describe('the audit refuses a plan that', () => {
  const plan = planProvisioning(toInput(situation(2, 2)), instant(0));
  const rules = (changed: Plan, remaining = 2): ReadonlyArray<string> => [
    ...new Set(auditPlan(changed, toInput(situation(remaining, 2))).map(({ rule }) => rule)),
  ];

  test('takes more nodes than a reservation has', () => {
    expect(rules(plan)).toEqual([]);
    expect(rules(plan, 1)).toContain('reservation');
  });

  test('takes what a closed gate forbids', () => {
    const gates = { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false };
    const given = toInput(situation(2, 2, { policy: { gates } }));
    expect(auditPlan(plan, given).map(({ rule }) => rule)).toContain('reservation');
  });

  test('does not say of which reservation a claim is, or would launch it from another', () => {
    const unsaid = plan.claims.map((claim) => ({
      ...claim,
      requirements: claim.requirements.filter((one) => one.key !== ID),
    }));
    expect(rules({ ...plan, claims: unsaid })).toContain('reservation');
    const other = plan.claims.map((claim) => {
      const { reservationId: _, ...offering } = { ...claim.offering, capacityType: 'on-demand' as const };
      return { ...claim, fallbacks: [offering] };
    });
    expect(rules({ ...plan, claims: other })).toContain('reservation');
  });
});
