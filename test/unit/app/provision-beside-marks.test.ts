import { expect, test } from 'vitest';
import { provision } from '../../../shared/app/provision.ts';
import { begunReplacement } from './consolidated.ts';

/** The claims that are there, but for the node that is marked and what was to replace it. */
async function begun() {
  const cluster = await begunReplacement();
  const known = new Set(['large', cluster.replacement]);
  const others = (): ReadonlyArray<string> =>
    cluster.server.list('nodeclaims').flatMap(({ metadata: { name } }) => (known.has(name) ? [] : name));
  return { ...cluster, others };
}

test('pods of a marked node whose replacement has failed get no other: the mark comes off, and they stay [L10]', async () => {
  const { ports, server, replacement, others } = await begun();
  server.remove('nodeclaims', replacement);
  expect(await provision(ports, true)).toEqual({ kind: 'nothing-to-launch', left: 0 });
  expect(others()).toEqual([]);
});

test('a pod that waits meanwhile gets its own node, and none for the pods that stay [L10]', async () => {
  const { ports, server, replacement, others, addPod, clock } = await begun();
  server.remove('nodeclaims', replacement);
  addPod('late', '1500m');
  clock.advance(15_000);
  expect(await provision(ports, true)).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
  const [name = ''] = others();
  expect(server.get('nodeclaims', name)?.spec).toMatchObject({ resources: { requests: { cpu: '1500m' } } });
});

test('a pod that waits is not sent to a marked node, which takes none until the mark is off', async () => {
  const { ports, server, replacement, others, addPod, clock } = await begun();
  server.remove('nodeclaims', replacement);
  addPod('late', '1');
  clock.advance(15_000);
  expect(await provision(ports, true)).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(others()).toHaveLength(1);
});

test('pods of a node that somebody removes get their nodes, whatever it was marked for', async () => {
  const { ports, server, replacement, others } = await begun();
  server.remove('nodeclaims', replacement);
  server.delete('nodeclaims', 'large');
  expect(await provision(ports, true)).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(others()).toHaveLength(1);
});
