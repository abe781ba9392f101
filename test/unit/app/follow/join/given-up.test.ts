import { expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RefusedError, RetryableError } from '../../../../../shared/ports/errors.ts';
import { emptied } from '../../../../kit/app/consolidated.ts';
import { machine, NODE_LABELS, since } from '../../../../kit/app/small-cluster.ts';

const amounts = { cpu: '2', memory: '8Gi', pods: '110' };

/** A claim that is given up after 16 minutes, which nobody may delete, and whose node joins then. */
async function givenUpAndJoined() {
  const world = emptied();
  const { ports, clock, outside, azure, addClaim, addNode } = world;
  azure.machines.set('c', machine('c'));
  const conditions = [since(clock.now(), 'Launched')];
  addClaim('c', {
    labels: NODE_LABELS,
    status: { providerID: 'azure://c', allocatable: amounts, capacity: amounts, conditions },
  });
  clock.advance(16 * 60_000);
  outside.onRequest = ({ method, path }) => {
    if (method === 'DELETE' && path.includes('/nodeclaims/c')) throw new RetryableError('not reached');
  };
  await expect(follow(ports, { kind: 'NodeClaim', name: 'c' })).rejects.toThrow('not reached');
  outside.onRequest = () => undefined;
  const taints = [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }];
  addNode('c', { labels: NODE_LABELS, taints, status: { allocatable: amounts, capacity: amounts } });
  return world;
}

test('a claim that was noted as given up and not deleted, and whose node has joined since, is given up no more', async () => {
  const { ports, server, clock } = await givenUpAndJoined();
  for (let n = 0; n < 6; n++) {
    await follow(ports, { kind: 'NodeClaim', name: 'c' });
    clock.advance(60_000);
  }
  // In use, and with the note it takes no pods of any plan, is consolidated never, and drifts and expires for nothing.
  const found = server.get('nodeclaims', 'c');
  expect(JSON.stringify(found?.status?.['conditions'])).toContain('Initialized');
  expect(found?.metadata.annotations).not.toHaveProperty(['nodewright.dev/given-up']);
});

test('where the note is refused at first, a later look takes it off', async () => {
  const { ports, server, clock, outside } = await givenUpAndJoined();
  outside.onRequest = ({ method, path, body }) => {
    const isNote = method === 'PATCH' && path.endsWith('/nodeclaims/c') && JSON.stringify(body).includes('given-up');
    const key = { name: 'c', namespace: null };
    if (isNote) throw new RefusedError({ act: 'patch', kind: 'NodeClaim', key, policy: 'guard', reason: 'not now' });
  };
  const look = async (): Promise<unknown> => {
    clock.advance(60_000);
    await follow(ports, { kind: 'NodeClaim', name: 'c' });
    return server.get('nodeclaims', 'c')?.metadata.annotations?.['nodewright.dev/given-up'];
  };
  expect([await look(), await look()]).toEqual(['RegistrationTimeout', 'RegistrationTimeout']);
  outside.onRequest = () => undefined;
  expect(await look()).toBeUndefined();
});

test('one that may neither say that its node has joined nor be deleted stays given up, and its node closed', async () => {
  const { ports, server, clock, outside } = await givenUpAndJoined();
  const written: Array<string> = [];
  outside.onRequest = ({ method, path }) => {
    if (method !== 'GET' && /\/(nodes|nodeclaims)\//.test(path)) written.push(`${method} ${path}`);
    const isStatus = path.endsWith('/nodeclaims/c/status');
    const key = { name: 'c', namespace: null };
    const refusal = { kind: 'NodeClaim', key, policy: 'guard', reason: 'nobody may' } as const;
    if (isStatus) throw new RefusedError({ ...refusal, act: 'patch the status of' });
    if (method === 'DELETE') throw new RefusedError({ ...refusal, act: 'delete' });
  };
  for (let n = 0; n < 3; n++) {
    await follow(ports, { kind: 'NodeClaim', name: 'c' }).catch((error: unknown) =>
      expect(error).toBeInstanceOf(RefusedError),
    );
    clock.advance(60_000);
  }
  expect(server.get('nodeclaims', 'c')?.metadata.annotations).toHaveProperty(['nodewright.dev/given-up']);
  const claimPath = '/apis/karpenter.sh/v1/nodeclaims/c';
  expect(new Set(written)).toEqual(new Set([`PATCH ${claimPath}/status`, `DELETE ${claimPath}`]));
});
