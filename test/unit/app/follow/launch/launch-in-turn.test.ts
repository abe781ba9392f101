import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { LaunchOrder, LaunchOutcome } from '../../../../../shared/ports/cloud.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { size } from '../../../../kit/core/build.ts';
import { machine, smallCluster } from '../../../../kit/app/small-cluster.ts';

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

  test('is logged with what Azure counts quota by, of its own size', async () => {
    const { outside, ports } = wanting();
    const of = (name: string, series: object) => size(name, 2, 8, 100_000, { labels: { ...series } });
    outside.types = [
      of('Standard_D2_v5', { 'karpenter.azure.com/sku-series': ['Dv5'] }),
      of('Standard_E2_v5', { 'karpenter.azure.com/sku-series': ['Ev5'] }),
      of('Standard_X2', {}),
    ];
    outside.launch = () => soldOut;
    const families = new Set<string>();
    const log: typeof ports.log = (event, facts) => {
      const { instanceType, family } = facts as Readonly<Record<string, string | null>>;
      if (event === 'offering-refused') families.add(`${instanceType} ${family}`);
    };
    await follow({ ...ports, log }, { kind: 'NodeClaim', name: 'c' });
    expect([...families].toSorted()).toEqual(['Standard_D2_v5 Dv5', 'Standard_E2_v5 Ev5', 'Standard_X2 null']);
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

const doubtful: LaunchOutcome = { kind: 'doubtful', reason: 'NeverSeen', message: 'in new words' };
const HOUR_MS = 3_600_000;

/** As `wanting`, where five sizes may be had. */
function wantingOfFive() {
  const given = wanting();
  given.outside.types = ['A2', 'B2', 'C2', 'D2', 'E2'].map((name, at) => size(`Standard_${name}`, 2, 8, 100_000 + at));
  const sizes = (places: ReadonlyArray<string>) => places.map((place) => place.split(' ')[0]);
  return { ...given, sizes, says: () => given.conditionOf('c', 'Launched') };
}

describe('a launch that Azure refuses in words that nobody knows', () => {
  test('tries another size, and remembers the first for an hour when the other is taken', async () => {
    const { outside, look, tried, sizes, azure, clock } = wantingOfFive();
    outside.launch = ({ claim }) => (tried().length === 1 ? doubtful : { kind: 'accepted', machine: machine(claim) });
    await look();
    expect(sizes(tried())).toEqual(['Standard_A2', 'Standard_B2']);
    expect(azure.refused).toMatchObject([
      { scope: 'size', offering: { instanceType: 'Standard_A2' }, untilMs: clock.now() + HOUR_MS, reason: 'NeverSeen' },
    ]);
  });

  test('tries three sizes and no more, says why on its claim, and keeps the first from the next plan for ten minutes', async () => {
    const { outside, look, tried, sizes, azure, clock, says, stateOf } = wantingOfFive();
    outside.launch = () => doubtful;
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 60_000 });
    expect(sizes(tried())).toEqual(['Standard_A2', 'Standard_B2', 'Standard_C2']);
    expect(azure.refused).toMatchObject([
      { scope: 'size', offering: { instanceType: 'Standard_A2' }, untilMs: clock.now() + HOUR_MS / 6 },
    ]);
    expect(azure.refused).toHaveLength(1);
    expect(says()).toMatchObject({ status: 'Unknown', reason: 'NeverSeen', message: 'in new words' });
    expect(stateOf('c')).toBe('there');
  });

  test('says so too where no other size may be had', async () => {
    const { outside, look, tried, says, stateOf, azure } = wantingOfFive();
    outside.types = outside.types.slice(0, 1);
    outside.launch = () => doubtful;
    await look();
    expect([tried().length, azure.refused.length, stateOf('c')]).toEqual([1, 1, 'there']);
    expect(says()).toMatchObject({ reason: 'NeverSeen' });
  });

  test('that finds a machine which was there knows nothing of sizes', async () => {
    const { outside, look, tried, azure, clock } = wantingOfFive();
    outside.launch = ({ claim }) => (tried().length === 1 ? doubtful : { kind: 'exists', machine: machine(claim) });
    await look();
    expect(azure.refused).toMatchObject([{ untilMs: clock.now() + HOUR_MS / 6 }]);
  });
});

describe('a launch that Azure puts off', () => {
  const throttled = (retryAfterMs?: number) =>
    new RetryableError('launching VM aks-c: 429 slow down', {
      because: 'throttled',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  const failing = (error: Error) => {
    const given = wanting();
    given.outside.launch = () => {
      throw error;
    };
    return { ...given, says: () => given.conditionOf('c', 'Launched') };
  };

  test('says on its claim that Azure throttles and when it is asked again, and waits so long', async () => {
    const { look, says, clock, stateOf } = failing(throttled(90_000));
    const at = new Date(clock.now() + 90_000).toISOString().slice(0, 16);
    await expect(look()).rejects.toMatchObject({ name: 'RetryableError', retryAfterMs: 90_000 });
    expect(says()).toMatchObject({
      status: 'Unknown',
      reason: 'RequestsThrottled',
      message: expect.stringMatching(new RegExp(`^Azure throttles requests: asked again at ${at}.*429 slow down$`)),
    });
    expect(stateOf('c')).toBe('there');
  });

  test('is not asked for before that time, whoever looks, and is then', async () => {
    const { outside, look, tried, clock } = failing(throttled(90_000));
    await expect(look()).rejects.toBeInstanceOf(RetryableError);
    outside.launch = ({ claim }) => ({ kind: 'accepted', machine: machine(claim) });
    clock.advance(88_000);
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: null });
    expect(tried()).toHaveLength(1);
    clock.advance(2_000);
    await look();
    expect(tried()).toHaveLength(2);
  });

  test('is asked for at once where its claim says a time that is further ahead than any pause', async () => {
    const { look, tried, outside, server, clock } = failing(throttled(90_000));
    await expect(look()).rejects.toBeInstanceOf(RetryableError);
    outside.launch = ({ claim }) => ({ kind: 'accepted', machine: machine(claim) });
    const [launched] = (server.get('nodeclaims', 'c')?.status?.['conditions'] ?? []) as ReadonlyArray<object>;
    const message = `Azure throttles requests: asked again at ${new Date(clock.now() + 86_400_000).toISOString()}. 429`;
    server.patch('nodeclaims', 'c', { status: { conditions: [{ ...launched, message }] } }, 'status');
    await look();
    expect(tried()).toHaveLength(2);
  });

  test('without saying for how long is asked again within a minute', async () => {
    const { look, says } = failing(throttled());
    await expect(look()).rejects.toMatchObject({ retryAfterMs: null });
    expect(says()).toMatchObject({ message: expect.stringContaining('within a minute') });
  });

  test('for longer than a claim has is asked again when that is over', async () => {
    const { look, says, clock } = failing(throttled(900_000));
    const at = new Date(clock.now() + 300_000).toISOString().slice(0, 16);
    await expect(look()).rejects.toBeInstanceOf(RetryableError);
    expect(says()).toMatchObject({ message: expect.stringContaining(at) });
  });

  test('waits as long though somebody else wrote to its claim meanwhile', async () => {
    const { outside, look, server, says } = failing(throttled(90_000));
    outside.launch = () => {
      server.patch('nodeclaims', 'c', { metadata: { annotations: { somebody: 'else' } } }, 'object');
      throw throttled(90_000);
    };
    await expect(look()).rejects.toMatchObject({ retryAfterMs: 90_000 });
    expect(says()).not.toMatchObject({ reason: 'RequestsThrottled' });
  });

  test('says no more of it than Karpenter does, 300 characters', async () => {
    const { look, says } = failing(new RetryableError(`429 ${'x'.repeat(400)}`, { because: 'throttled' }));
    await expect(look()).rejects.toBeInstanceOf(RetryableError);
    expect(says()?.['message']).toHaveLength(300);
  });

  test('hides no fault of ours', async () => {
    const { look, outside } = failing(throttled(90_000));
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/c/status')) throw new TypeError('a fault');
    };
    await expect(look()).rejects.toThrow('a fault');
  });

  test('for want of a right names it on its claim, and is asked again in a minute', async () => {
    const error = new RetryableError('listing VM sizes: 403 the app lacks x', { because: 'forbidden' });
    const { look, says } = failing(error);
    await expect(look()).rejects.toMatchObject({ retryAfterMs: 60_000 });
    expect(says()).toMatchObject({
      reason: 'AuthorizationFailed',
      message: expect.stringContaining('the app lacks x'),
    });
  });

  test('for a moment says nothing', async () => {
    const { look, says } = failing(new RetryableError('500'));
    const before = says();
    await expect(look()).rejects.toThrow('500');
    expect(says()).toEqual(before);
  });
});

describe('a machine that was launched', () => {
  test('is not asked for again: each request counts against what Azure allows', async () => {
    const { ports, conditionOf } = wanting();
    const observe = (): Promise<never> => Promise.reject(new Error('nobody asks'));
    await follow({ ...ports, cloud: { ...ports.cloud, observe } }, { kind: 'NodeClaim', name: 'c' });
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
  });

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

test('a class of which Azure wants no machine passes over five sizes at most, however many claims ask', async () => {
  const { outside, clock, ports, addClaim, azure } = wanting();
  outside.types = Array.from({ length: 30 }, (_, at) => size(`Standard_D${at + 2}_v5`, 2, 8, 100_000 + at));
  outside.launch = () => ({ kind: 'doubtful', reason: 'InvalidParameter', message: 'odd' });
  for (let at = 0; at < 12; at++) {
    addClaim(`claim-${at}`);
    // One after the other, each with what the others left.
    await follow(ports, { kind: 'NodeClaim', name: `claim-${at}` });
    clock.advance(6_000);
  }
  expect(azure.refused).toHaveLength(5);
  clock.advance(10 * 60_000);
  addClaim('later');
  await follow(ports, { kind: 'NodeClaim', name: 'later' });
  expect(azure.refused).toHaveLength(6);
});
