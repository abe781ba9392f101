import { expect } from 'vitest';
import {
  type Client,
  appOn,
  deletedAt,
  gone,
  holds,
  isTainted,
  mostLeaving,
  nodeOf,
  onDouble,
  patchPool,
  poolThat,
  scale,
  settled,
  untouched,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';
import { isTrue } from '../../kit/state.ts';

const AFTER_S = 10;
const EVENTS = '/api/v1/namespaces/default/events?fieldSelector=reason%3DDisruptionBlocked';

/** A budget that is in force all day. */
const allDay = { schedule: '0 0 * * *', duration: '24h' };
/** ... and one that is not for hours yet. */
function laterToday(): object {
  const hour = (new Date().getUTCHours() + 6) % 24;
  return { schedule: `0 ${hour} * * *`, duration: '1h' };
}

/** Nodes without pods. */
export function emptinessCases(client: () => Client, mode: Mode): void {
  const rarely = onDouble(mode);
  rarely(
    'an empty node goes once consolidateAfter has passed since its last pod left, and not before [L03]',
    async () => {
      const { world, nodes, claims, pods } = client();
      await world.apply(poolThat('patient', { consolidateAfter: `${AFTER_S}s` }), appOn('patient', 1));
      const [name = ''] = await settled(client(), 'patient', 1);
      const [pod] = (await world.state()).pods;
      const sinceMs = Date.now();
      await scale(client(), 'patient', 0);
      await gone(client(), [name]);
      const leftMs = deletedAt(pods, pod?.metadata.name ?? '') ?? Infinity;
      const taintedMs = nodes.first(nodeOf(name), isTainted, sinceMs)?.atMs ?? 0;
      // Times in the API are whole seconds.
      expect(taintedMs - leftMs).toBeGreaterThan((AFTER_S - 1) * 1_000);
      const consolidatable = claims.first(name, (claim) => isTrue(claim, 'Consolidatable'), leftMs + 5_000);
      expect(consolidatable?.atMs).toBeLessThanOrEqual(taintedMs);
    },
  );

  rarely(
    'a budget of 0 holds empty nodes, by schedule and by reason too, and only while it says so [L03]',
    async () => {
      const { world } = client();
      const held: Readonly<Record<string, object>> = {
        'held-always': { nodes: '0' },
        'held-all-day': { nodes: '0', ...allDay },
        'held-empty': { nodes: '0', reasons: ['Empty'] },
      };
      const free: Readonly<Record<string, object>> = {
        'free-later': { nodes: '0', ...laterToday() },
        'free-drifted': { nodes: '0', reasons: ['Drifted', 'Underutilized'] },
      };
      const pools = Object.entries({ ...held, ...free });
      await world.apply(
        ...pools.map(([name, budget]) => poolThat(name, { consolidateAfter: '0s', budgets: [budget] })),
        ...pools.map(([name]) => appOn(name, 1)),
      );
      const claimOf = new Map<string, string>();
      for (const [name] of pools) {
        const [claim = ''] = await settled(client(), name, 1);
        claimOf.set(name, claim);
      }
      const of = (some: object): ReadonlyArray<string> => Object.keys(some).map((name) => claimOf.get(name) ?? '');
      for (const [name] of pools) {
        await scale(client(), name, 0);
      }
      await gone(client(), of(free));
      await holds(client(), 'nodes of pools with a budget of 0 stay', (state) => untouched(state, of(held)));
      const { items } = await world.api.get<{
        readonly items: ReadonlyArray<{ readonly involvedObject: { readonly name: string }; readonly message: string }>;
      }>(EVENTS);
      const told = items.filter(({ message }) => message.includes('blocking budget'));
      for (const name of Object.keys(held)) expect(told.map((one) => one.involvedObject.name)).toContain(name);
      await Promise.all(
        Object.keys(held).map((name) => patchPool(client(), name, { disruption: { budgets: [{ nodes: '1' }] } })),
      );
      await gone(client(), of(held));
    },
  );

  rarely('of five empty nodes a budget of 40 % lets two go at a time, and all in the end [L03]', async () => {
    const { world } = client();
    const budgets = [{ nodes: '40%' }];
    await world.apply(poolThat('five', { consolidateAfter: '0s', budgets }), appOn('five', 5));
    const names = await settled(client(), 'five', 5);
    const sinceMs = Date.now();
    await scale(client(), 'five', 0);
    await gone(client(), names, 90_000);
    expect(mostLeaving(client(), 'five', sinceMs)).toBe(2);
  });
}
