import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { START, decisionOf, smallCluster } from '../../../kit/app/small-cluster.ts';

/**
 * A cluster whose pool has these limits; `carryOut` executes a decision of so many claims of two CPUs and 8 GiB each.
 */
function limitedTo(limits: Fields, spec: Fields = {}) {
  const cluster = smallCluster();
  const { ports, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  cluster.addPool('other');
  server.patch('nodepools', 'general', { spec: { limits, ...spec } }, 'object');
  const lines: Array<readonly [string, Fields]> = [];
  const log = (event: string, facts: Fields): void => void lines.push([event, facts]);
  return {
    ...cluster,
    claims: () =>
      server
        .list('nodeclaims')
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    addOf: (name: string, parts: { readonly annotations?: Fields; readonly capacity?: Fields } = {}) => {
      const { annotations = {}, capacity } = parts;
      const labels = {
        'karpenter.sh/nodepool': 'general',
        'node.kubernetes.io/instance-type': 'Standard_D2_v5',
      };
      cluster.addClaim(name, { labels, annotations, ...(capacity === undefined ? {} : { status: { capacity } }) });
    },
    notMade: () => lines.flatMap(([event, { claim, why }]) => (event === 'nodeclaim-not-made' ? [[claim, why]] : [])),
    carryOut: async (decision: Decision) => {
      await ports.decisions.put(decision);
      await ports.ledger.commit(await ports.ledger.read(), decision.name);
      await resumeNow({ ...ports, log });
    },
  };
}

describe('a claim that would take its pool past a limit, as both are when it is made', () => {
  test('is not made, and the log says why; those before it are', async () => {
    const { carryOut, claims, notMade } = limitedTo({ cpu: '4' });
    await carryOut(decisionOf(['g-1', 'g-2', 'g-3']));
    expect(claims()).toEqual(['g-1', 'g-2']);
    expect(notMade()).toEqual([['g-3', 'limit of cpu of NodePool general leaves no room for Standard_D2_v5']]);
  });

  test.each([
    ['of nodes', { nodes: '1' }, 1],
    ['that leaves just room', { cpu: '6' }, 3],
    ['that leaves a little too little', { cpu: '5999m' }, 2],
    ['that is passed already', { cpu: '1' }, 0],
  ])('is told by a limit %s', async (_, limits, made) => {
    const { carryOut, claims } = limitedTo(limits);
    await carryOut(decisionOf(['g-1', 'g-2', 'g-3']));
    expect(claims()).toHaveLength(made);
  });

  test('counts what others have made since the plan, marked or not', async () => {
    const { carryOut, claims, addOf } = limitedTo({ cpu: '6' });
    addOf('by-hand');
    addOf('marked', { annotations: { 'nodewright.dev/disruption': '000000000-x' } });
    await carryOut(decisionOf(['g-1', 'g-2']));
    expect(claims()).toEqual(['by-hand', 'g-1', 'marked']);
  });

  test('does not count what is being deleted, or evicted by Azure', async () => {
    const { carryOut, claims, addOf, server } = limitedTo({ cpu: '4' });
    addOf('going');
    server.delete('nodeclaims', 'going');
    addOf('evicted', { annotations: { 'nodewright.dev/interruption': `preempt ${new Date(START).toISOString()}` } });
    await carryOut(decisionOf(['g-1', 'g-2']));
    expect(claims()).toEqual(['evicted', 'g-1', 'g-2', 'going']);
  });

  test('is no other after a crash: what was made by then counts once', async () => {
    const { carryOut, claims, addOf } = limitedTo({ cpu: '4' });
    addOf('g-1');
    await carryOut(decisionOf(['g-1', 'g-2', 'g-3']));
    expect(claims()).toEqual(['g-1', 'g-2']);
  });

  test('is no other pool’s', async () => {
    const { carryOut, claims } = limitedTo({ cpu: '2' });
    await carryOut(decisionOf(['g-1', 'o-1', 'o-2'], [], (name) => (name.startsWith('o') ? 'other' : 'general')));
    expect(claims()).toEqual(['g-1', 'o-1', 'o-2']);
  });

  test.each([
    ['memory', 1],
    ['cpu', 0],
  ])(
    'allows that a node has a tenth less of memory than its claim says, and of nothing else: %s',
    async (name, made) => {
      const whole = { memory: '8Gi', cpu: '2' };
      const limits = { memory: `${8 + 8 - 0.5}Gi`, cpu: '3900m' };
      const { carryOut, claims, addOf } = limitedTo({ [name]: limits[name as keyof typeof limits] });
      addOf('there', { capacity: whole });
      await carryOut(decisionOf(['g-1']));
      expect(claims()).toHaveLength(1 + made);
    },
  );

  test.each([
    ['of a static pool may be beside what it replaces', { replicas: 1 }, ['g-1', 'old']],
    ['of any other may not: that could stay', {}, ['old']],
  ])('%s', async (_, spec, expected) => {
    const { carryOut, claims, addOf } = limitedTo({ nodes: '1' }, spec);
    addOf('old');
    const removal = { reason: 'Drifted', claims: [{ name: 'old', uid: 'u', node: 'aks-old' }] } as const;
    await carryOut({ ...decisionOf(['g-1']), removal });
    expect(claims()).toEqual(expected);
  });
});

test('where no pool has limits, claims are made without a list of them', async () => {
  const { carryOut, trace } = limitedTo({});
  trace.length = 0;
  await carryOut(decisionOf(['g-1']));
  expect(trace.filter((step) => /^GET \S*\/nodeclaims(\?|$)/.test(step))).toEqual([]);
});
