import { expect, test } from 'vitest';
import { tellKept } from '../../../../../shared/app/disrupt/tell/tell-kept.ts';
import { gather } from '../../../../../shared/app/gather/gather.ts';
import type { KeptNode } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { emptied } from '../../../../kit/app/consolidated.ts';

/** Why nodes stay, as their events say it. */

type Cluster = ReturnType<typeof emptied>;

const kept = (node: string): KeptNode => ({ node, nodePool: 'general', reason: { kind: 'nothing-cheaper' } });

/** Tells that these nodes stay, and returns whom it has told of since the last time, as `Kind/name`. */
function telling({ ports, server }: Cluster) {
  let known = 0;
  return async (nodes: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const gathered = await gather(ports, await ports.ledger.read(), true);
    if (gathered === null) throw new Error('there is no snapshot');
    await tellKept(ports, gathered, nodes.map(kept));
    const events = server.list('events').slice(known) as ReadonlyArray<Fields>;
    known += events.length;
    return events.map(({ involvedObject }) => `${involvedObject['kind']}/${involvedObject['name']}`);
  };
}

test('one look tells a hundred events at most, and the next looks tell the rest, so that none is left out', async () => {
  const cluster = emptied();
  const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
  for (const name of names) cluster.addReady(name);
  const tell = telling(cluster);
  const nodes = names.map((name) => `aks-${name}`);
  const [first, second, third] = [await tell(nodes), await tell(nodes), await tell(nodes)];
  expect([first.length, second.length, third]).toEqual([100, 20, []]);
  expect(new Set([...first, ...second]).size).toBe(120);
});

test('a node that has gone meanwhile is passed over', async () => {
  const cluster = emptied();
  cluster.addReady('there');
  expect(await telling(cluster)(['aks-gone', 'aks-there'])).toEqual(['Node/aks-there', 'NodeClaim/there']);
});

test('two nodes that stay for one reason are told both, and another node of a name that was told is told too', async () => {
  const cluster = emptied();
  for (const name of ['a', 'b']) cluster.addReady(name);
  const tell = telling(cluster);
  expect(await tell(['aks-a', 'aks-b'])).toHaveLength(4);
  cluster.server.remove('nodeclaims', 'a');
  cluster.server.remove('nodes', 'aks-a');
  cluster.addReady('a');
  expect(await tell(['aks-a', 'aks-b'])).toEqual(['Node/aks-a', 'NodeClaim/a']);
});

test('every pool whose budgets let none go says so, and a pool without nodes says nothing', async () => {
  const cluster = emptied();
  const disruption = { consolidateAfter: '0s', budgets: [{ nodes: '0', reasons: ['Empty'] }] };
  for (const name of ['other', 'unused']) cluster.addPool(name);
  for (const name of ['general', 'other', 'unused']) {
    cluster.server.patch('nodepools', name, { spec: { disruption } }, 'object');
  }
  cluster.addReady('a');
  cluster.addReady('b', 2, {}, 'other');
  expect(await telling(cluster)([])).toEqual(['NodePool/general', 'NodePool/other']);
});
