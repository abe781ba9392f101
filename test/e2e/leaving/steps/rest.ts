import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { isRunning } from '../../kit/state.ts';
import {
  type Client,
  LOOKS_MS,
  NODES,
  appOn,
  claimsIn,
  isGoing,
  nodesIn,
  onDouble,
  podsOf,
  poolThat,
  scale,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

/** For so long a tainter is at work; a product that runs away makes a node about every three seconds. */
const TAINTED_MS = 60_000;
/** What Karpenter's own suite asks for is fewer than 35 in five minutes. */
const NODES_MAX = 12;

const isNews =
  (seenMs: number) =>
  ({ atMs }: { readonly atMs: number }) =>
    atMs > seenMs;

/** The cluster when nothing happens any more. */
export function restCases(client: () => Client, mode: Mode): void {
  const rarely = onDouble(mode);
  rarely(
    'after deployments have grown and shrunk nodes are as few as they can be, and none comes or goes any more [L05]',
    async () => {
      const { world, claims, nodes } = client();
      const all = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' };
      await world.apply(
        poolThat('restless', all),
        appOn('restless', 6),
        appOn('restless', 4, { name: 'other', cpu: '300m' }),
      );
      await world.until('all run', (state) => podsOf(state, 'restless').filter(isRunning).length === 10);
      await scale(client(), 'restless', 2);
      await sleep(LOOKS_MS / 2);
      await scale(client(), 'restless', 5);
      await sleep(LOOKS_MS / 2);
      await scale(client(), 'restless', 3);
      // Each pod of one core takes a node, with room for two of the others beside it.
      await world.until('three nodes are left', (state) => {
        const own = claimsIn(state, 'restless');
        const their = nodesIn(state, 'restless');
        // What is kept for planned pods is opened when they do not come.
        const isOpen = their.every(({ spec }) => (spec.taints ?? []).length === 0);
        return own.length === 3 && their.length === 3 && isOpen && podsOf(state, 'restless').every(isRunning);
      });
      const restedMs = Date.now();
      await sleep(LOOKS_MS);
      const state = await world.state();
      expect(claimsIn(state, 'restless')).toHaveLength(3);
      const made = claims.versions
        .filter(isNews(restedMs))
        .filter(({ object }) => !claims.of(object.metadata.name).some(({ atMs }) => atMs <= restedMs));
      expect(made, 'claims made at rest').toEqual([]);
      const touched = nodes.versions
        .filter(isNews(restedMs))
        .filter(({ object }) => isGoing(object) || (object.spec.taints ?? []).length > 0);
      expect(touched, 'nodes tainted or deleted at rest').toEqual([]);
    },
  );

  rarely(
    'a tainter that keeps pods from every new node brings a few nodes, and no endless number of them',
    async () => {
      const { world } = client();
      const all = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' };
      const end = Date.now() + TAINTED_MS;
      await world.apply(poolThat('haunted', all), appOn('haunted', 1));
      const tainted = new Set<string>();
      let most = 0;
      while (Date.now() < end) {
        const state = await world.state();
        const own = nodesIn(state, 'haunted');
        most = Math.max(most, own.length);
        for (const { metadata, spec } of own.filter((node) => !tainted.has(node.metadata.name))) {
          tainted.add(metadata.name);
          const taints = [...(spec.taints ?? []), { key: 'example.com/haunted', value: 'true', effect: 'NoExecute' }];
          await world.api.patch(`${NODES}/${metadata.name}`, 'merge', { spec: { taints } }).catch(() => undefined);
        }
        await sleep(100);
      }
      process.stdout.write(`a tainter at work for ${TAINTED_MS / 1_000} s: ${tainted.size} nodes, ${most} at once\n`);
      expect(most).toBeLessThanOrEqual(NODES_MAX);
      await scale(client(), 'haunted', 0);
      await world.until('none is left', (state) => claimsIn(state, 'haunted').length === 0);
    },
  );
}
