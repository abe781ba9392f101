import { describe, expect, test } from 'vitest';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import type { InventoryItem } from '../../../../shared/ports/cloud.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';
import { START, machine, nicItem, smallCluster, vmItem } from '../../../kit/app/small-cluster.ts';

const OLD_MS = 5 * 60_000;

const vm = vmItem;
const nic = nicItem;

/**
 * A cluster in which Azure lists `items`, some of them of `claims`; a sweep once machines of the start are old enough.
 */
function listing(items: ReadonlyArray<InventoryItem>, claims: ReadonlyArray<string> = []) {
  const cluster = smallCluster();
  const { azure, clock, outside } = cluster;
  for (const name of claims) cluster.addClaim(name);
  for (const { claim } of items) azure.machines.set(claim, machine(claim));
  outside.inventory = () => items;
  clock.advance(OLD_MS + 1);
  const logged: Array<string> = [];
  const ports: Ports = { ...cluster.ports, log: (event) => void logged.push(event) };
  return { ...cluster, ports, logged, deleted: azure.deleted };
}

describe('a machine without a claim', () => {
  test('is removed when it is older than five minutes, and not before', async () => {
    const { ports, deleted } = listing([vm('young', START + 1), vm('old', START)]);
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 1 });
    expect(deleted).toEqual(['old']);
  });

  test('stays when Azure does not say how old it is', async () => {
    const { ports, deleted } = listing([vm('a', null)]);
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 0 });
    expect(deleted).toEqual([]);
  });

  test('stays when its claim was made after the claims were listed', async () => {
    const { ports, deleted, outside, addClaim, server } = listing([vm('a'), vm('b')]);
    outside.onRequest = ({ path }) => {
      if (path.endsWith('/nodeclaims/a') && server.get('nodeclaims', 'a') === null) addClaim('a');
    };
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 1 });
    expect(deleted).toEqual(['b']);
  });

  test('is one only after its machine was listed and then no claim: machines are listed first', async () => {
    const { ports, deleted, outside, addClaim } = listing([]);
    outside.inventory = () => {
      addClaim('late');
      return [vm('late')];
    };
    await sweep(ports);
    expect(deleted).toEqual([]);
  });

  test('is removed with its NIC once, however often it is listed', async () => {
    const { ports, deleted } = listing([vm('a'), nic('a')]);
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 1 });
    expect(deleted).toEqual(['a']);
  });
});

describe('a NIC without a claim', () => {
  test('is removed when no machine goes with it', async () => {
    const { ports, deleted } = listing([nic('a')]);
    await sweep(ports);
    expect(deleted).toEqual(['a']);
  });

  test('stays while its machine is too young to be judged', async () => {
    const { ports, deleted } = listing([nic('a'), vm('a', START + 1)]);
    await sweep(ports);
    expect(deleted).toEqual([]);
  });
});

describe('a machine with a claim', () => {
  test.each([
    ['that is there', 'a', 'a'],
    ['whose name Azure writes in another case', 'a-1', 'A-1'],
  ])('%s is never removed, nor its NIC', async (_, claim, listed) => {
    const { ports, deleted } = listing([vm(listed), nic(listed)], [claim]);
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 0 });
    expect(deleted).toEqual([]);
  });

  test('whose claim is on its way out is left to the claim', async () => {
    const { ports, deleted, server } = listing([vm('a')], ['a']);
    server.delete('nodeclaims', 'a');
    await sweep(ports);
    expect(deleted).toEqual([]);
  });

  test('stays when the list of claims comes back empty, as each is asked for again', async () => {
    const given = listing([vm('a'), vm('b')], ['a', 'b']);
    const list = (() => Promise.resolve([])) as unknown as Ports['kubernetes']['list'];
    const ports = { ...given.ports, kubernetes: { ...given.ports.kubernetes, list } };
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 0 });
    expect(given.deleted).toEqual([]);
  });
});

describe('nothing is removed', () => {
  const busy = new RetryableError('busy');

  test('when the machines cannot be listed', async () => {
    const { ports, deleted, outside } = listing([vm('a')]);
    outside.inventory = () => {
      throw busy;
    };
    await expect(sweep(ports)).rejects.toThrow('busy');
    expect(deleted).toEqual([]);
  });

  test('when the claims cannot be listed', async () => {
    const { ports, deleted, outside } = listing([vm('a')]);
    outside.onRequest = ({ path }) => {
      if (path.includes('/nodeclaims?')) throw busy;
    };
    await expect(sweep(ports)).rejects.toThrow('busy');
    expect(deleted).toEqual([]);
  });

  test('when it cannot be asked whether the claim is there, and the sweep goes on', async () => {
    const { ports, deleted, outside, logged } = listing([vm('a'), vm('b')]);
    outside.onRequest = ({ path }) => {
      if (path.endsWith('/nodeclaims/a')) throw busy;
    };
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 1, provision: 'idle' });
    expect(deleted).toEqual(['b']);
    expect(logged).toContain('orphan-kept');
  });
});

describe('of many machines without a claim', () => {
  const many = Array.from({ length: 25 }, (_, index) => vm(`m-${String(index).padStart(2, '0')}`));

  test('twenty are removed by one sweep', async () => {
    const { ports, deleted } = listing(many);
    expect(await sweep(ports)).toMatchObject({ orphansDeleted: 20 });
    expect(new Set(deleted).size).toBe(20);
  });

  test('five at a time', async () => {
    const given = listing(many);
    let [now, most] = [0, 0];
    const remove = async (): Promise<'gone'> => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((done) => setImmediate(done));
      now -= 1;
      return 'gone';
    };
    await sweep({ ...given.ports, cloud: { ...given.ports.cloud, delete: remove } });
    expect(most).toBe(5);
  });

  test.each([new RetryableError('throttled'), new TerminalError('locked')])(
    'one that cannot be removed keeps no other, nor what a sweep does besides: %s',
    async (error) => {
      const { ports, deleted, outside, logged, sent, clock } = listing([vm('a'), vm('b'), vm('c')], ['stands-still']);
      outside.remove = (claim) => {
        if (claim === 'a') throw error;
        return 'deleting';
      };
      clock.advance(60_000);
      expect(await sweep(ports)).toEqual({ orphansDeleted: 2, hinted: 1, provision: 'idle' });
      expect(deleted).toEqual(['a', 'b', 'c']);
      expect(logged).toEqual(expect.arrayContaining(['orphan-kept', 'orphan-deleted', 'swept']));
      expect(sent).toHaveLength(1);
    },
  );

  test('a mistake of ours is not taken for one that cannot be removed', async () => {
    const { ports, outside } = listing([vm('a')]);
    outside.remove = () => {
      throw new Error('bug');
    };
    await expect(sweep(ports)).rejects.toThrow('bug');
  });
});

test.each([
  ['machines', [vm('a')], [], { orphansDeleted: 1, hinted: 0 }],
  ['claims', [], ['a'], { orphansDeleted: 0, hinted: 1 }],
])('a sweep that finds %s says how many', async (_, items, claims, found) => {
  const { ports } = listing(items, claims);
  const said: Array<unknown> = [];
  await sweep({ ...ports, log: (event, facts) => void (event === 'swept' && said.push(facts)) });
  expect(said).toEqual([{ ...found, provision: 'idle' }]);
});

test('a sweep that finds nothing says how the cluster is, and nothing else', async () => {
  const { ports, logged } = listing([]);
  expect(await sweep(ports)).toEqual({ orphansDeleted: 0, hinted: 0, provision: 'idle' });
  expect(logged).toEqual(['quotas-read', 'cluster-seen']);
});
