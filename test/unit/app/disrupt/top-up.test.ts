import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { DISRUPTED, emptied } from '../../../kit/app/consolidated.ts';
import { since, START } from '../../../kit/app/small-cluster.ts';
import { onDemand, size } from '../../../kit/core/build.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';

const SIZE = 'node.kubernetes.io/instance-type';

/** All nodes are full; those with a decision must go, and are marked by it. */
function markedNodes(marked: Readonly<Record<string, string>>) {
  const cluster = emptied();
  const { server, clock } = cluster;
  const fill = (name: string): void => {
    for (const n of [1, 2]) cluster.addRunning(`${name}${n}`, name);
  };
  cluster.addReady('a');
  fill('a');
  for (const [name, decision] of Object.entries(marked)) {
    cluster.addReady(name, 2, { annotations: { 'nodewright.dev/disruption': decision } });
    fill(name);
    const types = ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable', 'Drifted'];
    const conditions = types.map((type) => since(clock.now() - 3_600_000, type));
    const reason = { ...since(clock.now() - 30_000, 'DisruptionReason'), reason: 'Drifted' };
    server.patch('nodeclaims', name, { status: { conditions: [...conditions, reason] } }, 'status');
    server.patch('nodes', `aks-${name}`, { spec: { taints: [DISRUPTED] } }, 'object');
  }
  const own = new Set(['a', ...Object.keys(marked)]);
  const bought = (): ReadonlyArray<string> =>
    server.list('nodeclaims').flatMap(({ metadata: { name } }) => (own.has(name) ? [] : [name]));
  return { ...cluster, bought };
}

test('of two sets that are both short of room one gets its node within four minutes', async () => {
  const { ports, bought, clock } = markedNodes({ b: 'd', c: 'e' });
  for (let n = 0; n < 48; n++) {
    await disrupt(ports);
    await provision(ports);
    clock.advance(5_000);
  }
  expect(bought().length).toBeGreaterThan(0);
});

test('what is bought and vanishes each time is not bought at every look', async () => {
  const { ports, bought, clock, server } = markedNodes({ b: 'd' });
  let count = 0;
  for (let n = 0; n < 120; n++) {
    await disrupt(ports);
    for (const name of bought()) {
      count++;
      server.remove('nodeclaims', name);
    }
    clock.advance(2_000);
  }
  expect(count).toBeLessThan(10);
});

test('a bought node that never joins counts as a failure of the step', async () => {
  const { ports, bought, clock, server } = markedNodes({ b: 'd' });
  for (let n = 0; n < 250; n++) {
    await disrupt(ports);
    for (const name of n % 12 === 0 ? bought() : []) await follow(ports, { kind: 'NodeClaim', name });
    clock.advance(5_000);
  }
  expect(server.get('nodepools', 'general')?.metadata.annotations).toHaveProperty([
    'nodewright.dev/disruption-failures',
  ]);
});

describe('a set that saves money, for which something has come that others have filled', () => {
  /** The large node costs 0.4 an hour, and what has come for it 0.1: one more may cost less than 0.3. */
  async function filled(minValues?: number) {
    const cluster = emptied();
    const { ports, server, outside, addReady, addRunning } = cluster;
    const prices = { 2: 100_000, 4: 290_000, 8: 400_000 };
    outside.types = Object.entries(prices).map(([cpu, price]) =>
      size(`Standard_D${cpu}_v5`, Number(cpu), 4 * Number(cpu), price),
    );
    const sizes = { key: SIZE, operator: 'Exists', minValues };
    server.patch(
      'nodepools',
      'general',
      { spec: { template: { spec: { requirements: [onDemand, sizes] } } } },
      'object',
    );
    addReady('large', 8, { annotations: { 'nodewright.dev/disruption': 'd', 'nodewright.dev/replaced-by': 'small' } });
    const reason = { ...since(START - 30_000, 'DisruptionReason'), reason: 'Underutilized' };
    const conditions = [
      ...['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'].map((type) => since(0, type)),
      reason,
    ];
    server.patch('nodeclaims', 'large', { status: { conditions } }, 'status');
    server.patch('nodes', 'aks-large', { spec: { taints: [DISRUPTED] } }, 'object');
    addReady('small');
    for (const [name, node] of Object.entries({ moving: 'large', new: 'small', newer: 'small' }))
      addRunning(name, node);
    await disrupt(ports);
    const bought = server.list('nodeclaims').filter(({ metadata: { name } }) => name !== 'large' && name !== 'small');
    return { ...cluster, requirements: bought.map(({ spec }) => spec?.['requirements'] as ReadonlyArray<Fields>) };
  }

  test('gets one more node, of no size that costs as much as is left to save', async () => {
    const { requirements, marks } = await filled();
    const sizes = requirements.map((own) => own.find(({ key }) => key === SIZE)?.['values']);
    expect([sizes, marks('large').tainted]).toEqual([[['Standard_D2_v5', 'Standard_D4_v5']], true]);
  });

  test('stays where its NodePool asks for more sizes than are so cheap', async () => {
    const { requirements, marks } = await filled(3);
    expect([requirements, marks('large').tainted]).toEqual([[], false]);
  });
});
