import { describe, expect, test } from 'vitest';
import { lookOn } from '../../../../shared/app/disrupt/look-on.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { consolidated, emptied } from '../../../kit/app/consolidated.ts';
import { denying, START } from '../../../kit/app/small-cluster.ts';

/** Looks on for so long; what is told, and how long the pauses were. `onPause` happens in each. */
async function lookedOn(
  { ports, clock }: ReturnType<typeof consolidated>,
  forMs: number,
  onPause: () => void = () => undefined,
) {
  const told: Array<string> = [];
  const pauses: Array<number> = [];
  const sleep = (ms: number): Promise<void> => {
    pauses.push(ms);
    onPause();
    clock.advance(ms);
    return Promise.resolve();
  };
  await lookOn({ ...ports, sleep }, { untilMs: START + forMs, tell: ({ kind }) => void told.push(kind) });
  return { told, pauses };
}

describe('one execution of disrupt', () => {
  test('looks on every two seconds until what has begun is done and nothing else is', async () => {
    const cluster = consolidated();
    expect(await lookedOn(cluster, 50_000)).toEqual({
      // It waits for the scheduler for five seconds, which is told once.
      told: ['begun', 'waiting', 'finished', 'idle'],
      pauses: [2_000, 2_000, 2_000, 2_000],
    });
    expect(cluster.stateOf('spare')).toBe('leaving');
  });

  test('looks once where there is nothing to do', async () => {
    const cluster = consolidated();
    cluster.server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: 'Never' } } }, 'object');
    cluster.addRunning('other', 'spare');
    expect(await lookedOn(cluster, 50_000)).toEqual({ told: ['idle'], pauses: [] });
  });

  test('begins no look when its time is over', async () => {
    const quick = await lookedOn(consolidated(), 4_000);
    expect(quick).toEqual({ told: ['begun', 'waiting'], pauses: [2_000, 2_000] });
    const quicker = await lookedOn(consolidated(), 3_999);
    expect(quicker).toEqual({ told: ['begun', 'waiting'], pauses: [2_000] });
  });

  test('rests three times as long as a look takes, where that is long', async () => {
    const cluster = consolidated();
    const { ports, clock } = cluster;
    const read = async (): Promise<Awaited<ReturnType<typeof ports.ledger.read>>> => {
      clock.advance(5_000);
      return ports.ledger.read();
    };
    const slow = { ...cluster, ports: { ...ports, ledger: { ...ports.ledger, read } } };
    const { pauses } = await lookedOn(slow, 25_000);
    expect(pauses[0]).toBeGreaterThanOrEqual(15_000);
  });

  test('ends with the failure of a look, which the next execution repairs', async () => {
    const cluster = consolidated();
    const failing = lookedOn(cluster, 50_000, () => {
      cluster.outside.onRequest = () => {
        throw new Error('the API server is away');
      };
    });
    await expect(failing).rejects.toThrow('the API server is away');
  });

  test('looks on after a decision that another has made first, and then begins', async () => {
    const { ports, clock, ...cluster } = consolidated();
    let isLost = false;
    const commit: Ports['ledger']['commit'] = (...asked) => {
      if (isLost) return ports.ledger.commit(...asked);
      isLost = true;
      return Promise.resolve({ kind: 'lost' });
    };
    const racing = { ...cluster, clock, ports: { ...ports, ledger: { ...ports.ledger, commit } } };
    expect((await lookedOn(racing, 2_000)).told).toEqual(['lost', 'begun']);
  });

  test('looks on while another executes a decision', async () => {
    const cluster = consolidated();
    cluster.outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/nodeclaims/spare')) throw new Error('the process died');
    };
    await expect(lookedOn(cluster, 0)).rejects.toThrow('the process died');
    expect(await lookedOn(cluster, 4_000)).toEqual({ told: ['executing'], pauses: [2_000, 2_000] });
  });

  /** What the next look would meet as well: the timer is soon enough for it. */
  const ends = {
    off: () => {
      const { ports, ...cluster } = consolidated();
      return { ...cluster, ports: { ...ports, disruption: { ...ports.disruption, isOn: false } } };
    },
    denied: () => {
      const cluster = consolidated();
      cluster.outside.deny = denying('PATCH', '/nodes/aks-spare');
      return cluster;
    },
    refused: () => {
      const { ports, ...cluster } = emptied({ types: 2 });
      cluster.addReady('large', 8);
      cluster.addRunning('web', 'large');
      // Provisioning knows no smaller size, which the search does.
      const planner: Ports['planner'] = (input, now) => {
        const catalog = new Map([...input.catalog].map(([name, types]) => [name, types.slice(1)]));
        return ports.planner({ ...input, catalog }, now);
      };
      return { ...cluster, ports: { ...ports, planner } };
    },
  };

  test.each(['off', 'denied', 'refused'] as const)('leaves to the timer what ends as %s', async (kind) => {
    expect(await lookedOn(ends[kind](), 50_000)).toEqual({ told: [kind], pauses: [] });
  });
});
