import { describe, expect, test } from 'vitest';
import { pool, requirement, size } from '../../../kit/core/build.ts';
import {
  ARM,
  D2,
  D4,
  D8,
  key,
  ours,
  machines,
  pod,
  poolWith,
  prefers,
  requires,
  requiresAny,
  schedule,
  valuesOf,
  z1,
  z2,
  z3,
  type PodParts,
} from '../kit/kit.ts';

/** Karpenter's scenarios of section A: requirements and labels. */

const team = 'example.com/team';
const select = (name: string, value: string): PodParts => ({ nodeSelector: { [name]: value } });

describe('labels of the pool and of pods', () => {
  test('a pod without constraints is placed although the pool has further labels [A01]', () => {
    const labelled = pool('default', { labels: { [team]: 'red' } });
    const outcome = schedule({ pools: [labelled], pods: [pod('a')] });
    expect(outcome.claimOf('a').labels[team]).toBe('red');
  });

  test.each([
    ['label', pool('default', { labels: { [team]: 'red' } })],
    ['requirement', poolWith('default', requirement(team, 'In', 'red'))],
  ])('a node selector that contradicts a %s of the pool keeps the pod out [A02]', (_, own) => {
    const outcome = schedule({ pools: [own], pods: [pod('a', select(team, 'blue')), pod('b', select(team, 'red'))] });
    expect(outcome.left).toEqual(['a']);
    expect(outcome.rulesFor('a')).toEqual(['requirement']);
  });

  test.each([
    ['In', ['red'], false],
    ['Exists', [], false],
    ['NotIn', ['red'], true],
    ['DoesNotExist', [], true],
  ])(
    '%s on a key that the pool does not define: placed only where absence will do [A03]',
    (operator, values, placed) => {
      const outcome = schedule({ pods: [pod('a', requires(requirement(team, operator, ...values)))] });
      expect(outcome.left).toEqual(placed ? [] : ['a']);
    },
  );

  test.each([
    [requirement(team, 'In', 'red', 'blue', 'green'), requirement(team, 'NotIn', 'red', 'green'), ['blue']],
    [requirement(team, 'In', '1', '5', '9'), requirement(team, 'Gt', '1'), ['5', '9']],
    [requirement(team, 'In', '1', '5', '9'), requirement(team, 'Gte', '5'), ['5', '9']],
    [requirement(team, 'In', '1', '5', '9'), requirement(team, 'Lt', '9'), ['1', '5']],
    [requirement(team, 'In', '1', '5', '9'), requirement(team, 'Lte', '1'), ['1']],
    [requirement(team, 'Exists'), requirement(team, 'In', 'red'), ['red']],
  ])('the node has what pool and pod both allow: %o with %o [A04]', (own, wanted, both) => {
    const outcome = schedule({ pools: [poolWith('default', own)], pods: [pod('a', requires(wanted))] });
    const claim = outcome.claimOf('a');
    expect(valuesOf(claim, team)).toEqual(both);
    expect(both).toContain(claim.labels[team]);
  });

  test.each([
    ['Gt', '4', 'Standard_D8s_v5'],
    ['Gte', '4', 'Standard_D4s_v5'],
    ['Lt', '4', 'Standard_D2s_v5'],
    ['Lte', '2', 'Standard_D2s_v5'],
  ])('numeric operators narrow the sizes: %s %s [A04]', (operator, bound, expected) => {
    const outcome = schedule({ pods: [pod('a', requires(requirement(key.cpu, operator, bound)))] });
    expect(outcome.claimOf('a').offering.instanceType).toBe(expected);
  });

  test('bounds of the pool and of the pod that leave nothing keep the pod out [A04]', () => {
    const outcome = schedule({
      pools: [poolWith('default', requirement(key.cpu, 'Lt', '4'))],
      pods: [pod('a', requires(requirement(key.cpu, 'Gt', '4')))],
    });
    expect(outcome.left).toEqual(['a']);
  });

  test('a pod that names a host gets no new node, and goes to that host where it is there and has room [A05]', () => {
    const there = machines(ours('here'));
    const outcome = schedule({
      ...there,
      pods: [pod('a', select(key.host, 'gone')), pod('b', select(key.host, 'here'))],
    });
    expect([outcome.placeOf('a'), outcome.placeOf('b')]).toEqual(['left', 'node here']);
  });

  test.each([
    [key.zone, 'westeurope-9'],
    [key.type, 'Standard_None'],
    [key.arch, 'riscv'],
    [key.capacityType, 'free'],
  ])('a value of %s that nothing has keeps the pod out [A05]', (name, value) => {
    expect(schedule({ pods: [pod('a', select(name, value))] }).left).toEqual(['a']);
  });
});

describe('preferences', () => {
  test('a preference that the requirement allows is met, one that it forbids is dropped [A06]', () => {
    const both = (preferred: string) => ({
      affinity: {
        nodeAffinity: {
          ...requires(requirement(key.zone, 'In', z1, z2)).affinity.nodeAffinity,
          ...prefers([1, requirement(key.zone, 'In', preferred)]).affinity.nodeAffinity,
        },
      },
    });
    const outcome = schedule({ pods: [pod('a', both(z2)), pod('b', both(z3))] });
    expect(outcome.claimOf('a').offering.zone).toBe(z2);
    expect(outcome.left).toEqual([]);
    expect([z1, z2]).toContain(outcome.claimOf('b').offering.zone);
  });

  test.each([
    ['In', [z1], 'In', [z1], z1],
    ['In', [z1, z2], 'NotIn', [z1], z2],
    ['NotIn', [z1], 'In', [z2], z2],
    ['NotIn', [z1], 'NotIn', [z2], z3],
    ['In', [z1], 'In', [z2], z1],
    ['In', [z1], 'NotIn', [z1], z1],
  ])('required %s %o with preferred %s %o comes out as %s [A07]', (required, own, preferred, wish, zone) => {
    const nodeAffinity = {
      ...requires(requirement(key.zone, required, ...own)).affinity.nodeAffinity,
      ...prefers([1, requirement(key.zone, preferred, ...wish)]).affinity.nodeAffinity,
    };
    const outcome = schedule({ pods: [pod('a', { affinity: { nodeAffinity } })] });
    expect(outcome.claimOf('a').offering.zone).toBe(zone);
  });

  test('requirements that contradict each other keep the pod out whatever it prefers [A07]', () => {
    const nodeAffinity = {
      ...requires(requirement(key.zone, 'In', z1), requirement(key.zone, 'NotIn', z1)).affinity.nodeAffinity,
      ...prefers([1, requirement(key.zone, 'In', z1)]).affinity.nodeAffinity,
    };
    expect(schedule({ pods: [pod('a', { affinity: { nodeAffinity } })] }).left).toEqual(['a']);
  });

  test('selector, requirement and preference on different labels hold together [A08]', () => {
    const nodeAffinity = {
      ...requires(requirement(key.cpu, 'Gt', '2')).affinity.nodeAffinity,
      ...prefers([1, requirement(key.capacityType, 'In', 'spot')]).affinity.nodeAffinity,
    };
    const outcome = schedule({
      types: [D2, D4, D8, ARM],
      pools: [pool('default', { requirements: [] })],
      pods: [pod('a', { nodeSelector: { [key.zone]: z2, [key.arch]: 'amd64' }, affinity: { nodeAffinity } })],
    });
    expect(outcome.claimOf('a').offering).toMatchObject({
      instanceType: 'Standard_D4s_v5',
      zone: z2,
      capacityType: 'spot',
    });
  });

  test('preferences are tried from the heaviest to the lightest, and all may be dropped [A14]', () => {
    const weighted = prefers([1, requirement(key.zone, 'In', z1)], [100, requirement(key.zone, 'In', z3)]);
    const heaviestGone = prefers([100, requirement(key.zone, 'In', 'none')], [50, requirement(key.zone, 'In', z2)]);
    const allGone = prefers([100, requirement(team, 'Exists')], [1, requirement(key.zone, 'In', 'none')]);
    const outcome = schedule({ pods: [pod('a', weighted), pod('b', heaviestGone), pod('c', allGone)] });
    expect(outcome.claimOf('a').offering.zone).toBe(z3);
    expect(outcome.claimOf('b').offering.zone).toBe(z2);
    expect(outcome.left).toEqual([]);
  });
});

describe('what a pod may ask for', () => {
  test.each([key.host, 'karpenter.sh/anything', 'sub.karpenter.sh/thing'])(
    'a selector on %s, which no pool may define, gets no new node [A09]',
    (name) => {
      expect(schedule({ pods: [pod('a', select(name, 'x'))] }).left).toEqual(['a']);
    },
  );

  test.each(['kubernetes.io/custom', 'node-restriction.kubernetes.io/team', 'subdomain.kubernetes.io/x', 'plain'])(
    'a selector on %s is met by a pool that has it [A09]',
    (name) => {
      const own = pool('default', { labels: { [name]: 'x' } });
      expect(schedule({ pools: [own], pods: [pod('a', select(name, 'x'))] }).left).toEqual([]);
    },
  );

  test.each([
    [key.pool, 'default'],
    [key.zone, z1],
    [key.type, 'Standard_D2s_v5'],
    [key.arch, 'amd64'],
    [key.os, 'linux'],
    [key.capacityType, 'on-demand'],
    [key.family, 'D'],
    ['karpenter.azure.com/aksnodeclass', 'default'],
  ])('a selector on the well-known label %s is met [A09]', (name, value) => {
    expect(schedule({ pods: [pod('a', select(name, value))] }).left).toEqual([]);
  });

  test('a pod that asks for no NodePool at all is not ours: it is neither placed nor reported [A09]', () => {
    const own = requires(requirement(key.pool, 'DoesNotExist'));
    const outcome = schedule({ ...machines(ours('n')), pods: [pod('a', own)] });
    expect([outcome.placeOf('a'), outcome.left]).toEqual(['nowhere', []]);
  });

  test.each([
    ['not ready', { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'NodeClassNotReady' }] } }],
    ['being deleted', { metadata: { name: 'default', deletionTimestamp: '2026-01-01T00:00:00Z' } }],
  ])('a pool that is %s is never used [A10]', (_, parts) => {
    const outcome = schedule({ pools: [{ ...pool('default'), ...parts }], pods: [pod('a')] });
    expect(outcome.rulesFor('a')).toEqual(['pool-not-usable']);
  });

  test('pods whose values agree share a node, pods whose values differ get one each [A11]', () => {
    const open = poolWith('default', requirement(team, 'In', 'red', 'blue'));
    const wants = (...values: ReadonlyArray<string>) => requires(requirement(team, 'In', ...values));
    const agree = schedule({ pools: [open], pods: [pod('a', wants('red')), pod('b', wants('red', 'blue'))] });
    expect(agree.claims).toHaveLength(1);
    expect(agree.claimOf('b').labels[team]).toBe('red');
    const differ = schedule({ pools: [open], pods: [pod('a', wants('red')), pod('b', wants('blue'))] });
    expect(differ.claims).toHaveLength(2);
  });

  test('Exists does not overwrite the value that another pod chose [A12]', () => {
    const outcome = schedule({
      pools: [poolWith('default', requirement(team, 'Exists'))],
      pods: [
        pod('a', requires(requirement(team, 'In', 'red'))),
        pod('b', requires(requirement(team, 'Exists'))),
        pod('c', requires(requirement(team, 'Exists'))),
      ],
    });
    expect(outcome.claims).toHaveLength(1);
    expect(outcome.claimOf('b').labels[team]).toBe('red');
  });

  test('of required terms any may hold, and the last one is never given up [A13]', () => {
    const none = [requirement(key.zone, 'In', 'none')];
    const outcome = schedule({
      pods: [
        pod('a', requiresAny(none, [requirement(key.zone, 'In', z3)])),
        pod('b', requiresAny([requirement(key.zone, 'In', z2)], [requirement(key.zone, 'In', z2)])),
        pod('c', requiresAny(none, none)),
      ],
    });
    expect(outcome.claimOf('a').offering.zone).toBe(z3);
    expect(outcome.claimOf('b').offering.zone).toBe(z2);
    expect(outcome.left).toEqual(['c']);
  });

  test('of required terms the cheapest that can be met is used, not the first [A13]', () => {
    const dear = [requirement(key.type, 'In', 'Standard_D8s_v5')];
    const cheap = [requirement(key.type, 'In', 'Standard_D2s_v5')];
    const outcome = schedule({ pods: [pod('a', requiresAny(dear, cheap))] });
    expect(outcome.claimOf('a').offering.instanceType).toBe('Standard_D2s_v5');
  });
});

describe('names of labels', () => {
  test.each([
    ['failure-domain.beta.kubernetes.io/zone', z2],
    ['beta.kubernetes.io/arch', 'amd64'],
    ['beta.kubernetes.io/os', 'linux'],
    ['beta.kubernetes.io/instance-type', 'Standard_D2s_v5'],
    ['topology.disk.csi.azure.com/zone', z2],
  ])('the alias %s means the label of today, for pods and for pools [A16]', (name, value) => {
    expect(schedule({ pods: [pod('a', select(name, value))] }).left).toEqual([]);
    const own = poolWith('default', requirement(name, 'In', value));
    expect(schedule({ pools: [own], pods: [pod('a')] }).left).toEqual([]);
    expect(schedule({ pools: [own], pods: [pod('b', requires(requirement(name, 'NotIn', value)))] }).left).toEqual([
      'b',
    ]);
  });

  test('the region’s alias is the region [A16]', () => {
    const here = size('Standard_D2s_v5', 2, 8, 100_000, {
      labels: { ...D2.labels, 'topology.kubernetes.io/region': ['westeurope'] },
    });
    const wants = (value: string) => select('failure-domain.beta.kubernetes.io/region', value);
    const outcome = schedule({ types: [here], pods: [pod('a', wants('westeurope')), pod('b', wants('eastus'))] });
    expect(outcome.left).toEqual(['b']);
  });

  test.each([
    ['zone', key.zone],
    ['topology.kubernetes.io/zon', key.zone],
    ['topology.kubernetes.io/zones', key.zone],
    ['region', 'topology.kubernetes.io/region'],
    ['instance-type', key.type],
    ['nodepool', key.pool],
    ['karpenter.sh/node-pool', key.pool],
    ['kubernetes.io/architecture', key.arch],
    ['arch', key.arch],
    ['capacity-type', key.capacityType],
    ['karpenter.azure.com/sku-familly', key.family],
  ])('a pod that asks for %s is told that %s is probably meant [A16]', (name, meant) => {
    const outcome = schedule({ pods: [pod('a', select(name, 'x'))] });
    expect(outcome.wordsFor('a')).toContain(`did you mean ${meant}?`);
  });

  test('no hint is given for a label that resembles none, nor for one that some pool has [A16]', () => {
    const pods = [pod('a', select(team, 'x')), pod('b', select('zone', 'b'))];
    const outcome = schedule({ pools: [pool('default', { labels: { zone: 'a' } })], pods });
    expect(outcome.left).toEqual(['a', 'b']);
    for (const name of outcome.left) expect(outcome.wordsFor(name)).not.toContain('did you mean');
  });

  test('a lower and an upper bound on one key are two requirements of the claim [A16]', () => {
    const own = poolWith('default', requirement(team, 'Gte', '3'), requirement(team, 'Lt', '9'));
    const { requirements, labels } = schedule({ pools: [own], pods: [pod('a')] }).claimOf('a');
    expect(requirements.filter((one) => one.key === team)).toEqual([
      { key: team, operator: 'Gte', values: ['3'] },
      { key: team, operator: 'Lte', values: ['8'] },
    ]);
    expect(labels[team]).toBe('3');
  });
});
