import { describe, expect, test } from 'vitest';
import { follow } from '../../../shared/app/follow/follow.ts';
import type { LaunchOrder, LaunchOutcome } from '../../../shared/ports/cloud.ts';
import { size } from '../core/build.ts';
import { machine, smallCluster } from './small-cluster.ts';

const soldOut: LaunchOutcome = {
  kind: 'unavailable',
  scope: 'offering',
  retryAfterMs: 60_000,
  reason: 'AllocationFailed',
  message: 'sold out',
};

/** A claim that wants a machine, where two sizes in three zones as two capacity types may be had: twelve offerings. */
function wanting() {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addClaim('c');
  cluster.outside.types = [size('Standard_D2_v5', 2, 8, 100_000), size('Standard_E2_v5', 2, 16, 130_000)];
  const placeOf = ({ offering }: Pick<LaunchOrder, 'offering'>): string =>
    `${offering.instanceType} ${offering.zone} ${offering.capacityType}`;
  return {
    ...cluster,
    look: () => follow(cluster.ports, { kind: 'NodeClaim', name: 'c' }),
    tried: () => cluster.azure.orders.map(placeOf),
    remembered: () => cluster.azure.refused.map(placeOf),
  };
}

describe('a launch that Azure refuses', () => {
  test('stops when it has been tried for 4 s, and asks to go on at once with what was refused remembered', async () => {
    const { outside, clock, look, tried, remembered, stateOf } = wanting();
    outside.launch = () => {
      clock.advance(2_000);
      return soldOut;
    };
    const step = await look();
    expect(step).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() });
    expect(tried()).toHaveLength(2);
    expect(remembered()).toEqual(tried());
    expect(stateOf('c')).toBe('there');
  });

  test('tries on for as long as 4 s have not passed', async () => {
    const { outside, clock, look, tried } = wanting();
    outside.launch = () => {
      clock.advance(1_999);
      return soldOut;
    };
    await look();
    expect(tried()).toHaveLength(3);
  });

  test('tries one at least, however long that takes', async () => {
    const { outside, clock, look, tried } = wanting();
    outside.launch = () => {
      clock.advance(60_000);
      return soldOut;
    };
    await look();
    expect(tried()).toHaveLength(1);
  });

  test('tries every offering while no time passes, and then gives its claim up', async () => {
    const { outside, look, tried, remembered, stateOf } = wanting();
    outside.launch = () => soldOut;
    expect((await look()).kind).toBe('ended');
    expect(new Set(tried()).size).toBe(12);
    expect(remembered()).toEqual(tried());
    expect(stateOf('c')).toBe('leaving');
  });

  test('remembers what was refused though the next offering cannot be asked for', async () => {
    const { outside, look, tried, remembered } = wanting();
    outside.launch = () => {
      if (tried().length === 2) throw new Error('the worker has died');
      return soldOut;
    };
    await expect(look()).rejects.toThrow('died');
    expect(remembered()).toEqual(tried().slice(0, 1));
  });
});

describe('a machine that was launched', () => {
  test('is removed when its claim has gone by the time that this is written down', async () => {
    const { outside, server, look, azure } = wanting();
    outside.launch = ({ claim }) => {
      server.remove('nodeclaims', 'c');
      return { kind: 'accepted', machine: machine(claim) };
    };
    expect((await look()).kind).toBe('ended');
    expect([azure.deleted, [...azure.machines.keys()]]).toEqual([['c'], []]);
  });

  test('is removed when its claim is on its way out by then, whose end may have asked for it before there was one', async () => {
    const { outside, server, look, azure } = wanting();
    outside.launch = ({ claim }) => {
      server.delete('nodeclaims', 'c');
      return { kind: 'accepted', machine: machine(claim) };
    };
    expect((await look()).kind).toBe('ended');
    expect([azure.deleted, [...azure.machines.keys()]]).toEqual([['c'], []]);
  });

  test('stays when its claim has only changed meanwhile, and is found by the next look', async () => {
    const { outside, server, look, azure, conditionOf } = wanting();
    outside.launch = ({ claim }) => {
      server.patch('nodeclaims', 'c', { metadata: { annotations: { somebody: 'else' } } }, 'object');
      return { kind: 'accepted', machine: machine(claim) };
    };
    await expect(look()).rejects.toThrow('writing c');
    outside.launch = ({ claim }) => ({ kind: 'exists', machine: machine(claim) });
    await look();
    expect(azure.deleted).toEqual([]);
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
  });
});
