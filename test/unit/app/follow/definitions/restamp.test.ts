import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { POLICY, denying, smallCluster } from '../../../../kit/app/small-cluster.ts';

const hash = 'karpenter.sh/nodepool-hash';
const version = 'karpenter.sh/nodepool-hash-version';
const classHash = 'karpenter.azure.com/aksnodeclass-hash';
const classVersion = 'karpenter.azure.com/aksnodeclass-hash-version';
const old = { [hash]: 'old', [version]: 'v0', [classHash]: 'old', [classVersion]: 'v0' };

/** Claims `a` to `c` of a pool and class that another version of us has stamped. */
function outdated() {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  const { server } = cluster;
  server.patch('nodepools', 'general', { metadata: { annotations: old } }, 'object');
  server.patch('aksnodeclasses', 'default', { metadata: { annotations: old } }, 'object');
  for (const name of ['a', 'b', 'c'])
    cluster.addClaim(name, { labels: { 'karpenter.sh/nodepool': 'general' }, annotations: old });
  const stampOf = (name: string, key: string) => server.get('nodeclaims', name)?.metadata.annotations?.[key];
  return { ...cluster, stampOf };
}

describe.each([
  ['NodePool', 'general', 'nodepools', version, hash],
  ['AKSNodeClass', 'default', 'aksnodeclasses', classVersion, classHash],
] as const)('claims of a %s of an older hash version', (kind, name, plural, versionKey, hashKey) => {
  test('are stamped but for one that may not be written, which keeps neither the others nor the status', async () => {
    const { ports, outside, server, stampOf, conditionOf } = outdated();
    server.patch(plural, name, { status: { conditions: [] } }, 'status');
    outside.deny = denying('PATCH', '/nodeclaims/b');
    await follow(ports, { kind, name });
    expect(['a', 'b', 'c'].map((one) => stampOf(one, versionKey))).toEqual(['v3', 'v0', 'v3']);
    expect(conditionOf('b', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(POLICY) });
    expect(conditionOf(name, 'Ready', plural)).toMatchObject({ status: 'True' });
  });

  test('are not taken for stamped while one of them is not', async () => {
    const { ports, outside, server, clock } = outdated();
    outside.deny = denying('PATCH', '/nodeclaims/b');
    expect(await follow(ports, { kind, name })).toMatchObject({ lookAgainMs: clock.now() + 60_000 });
    expect(server.get(plural, name)?.metadata.annotations?.[versionKey]).toBe('v0');
  });

  test('are stamped where nobody has written a status of them yet', async () => {
    const { ports, server, stampOf } = outdated();
    const labels = { 'karpenter.sh/nodepool': 'general' };
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const metadata = { name: 'd', labels, annotations: old };
    server.create('nodeclaims', { metadata, spec: { nodeClassRef, requirements: [] } });
    await follow(ports, { kind, name });
    expect(stampOf('d', versionKey)).toBe('v3');
  });

  test('are all stamped where one has gone by then', async () => {
    const { ports, outside, server, stampOf } = outdated();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/b')) return;
      server.remove('nodeclaims', 'b');
    };
    await follow(ports, { kind, name });
    expect(['a', 'c'].map((one) => stampOf(one, versionKey))).toEqual(['v3', 'v3']);
    expect(server.get(plural, name)?.metadata.annotations?.[versionKey]).toBe('v3');
  });

  test('are stamped by a later look where they could not be before', async () => {
    const { ports, outside, server, stampOf } = outdated();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/b')) throw new RetryableError('busy');
    };
    const lines: Array<object> = [];
    await follow({ ...ports, log: (event, facts) => void lines.push({ event, ...facts }) }, { kind, name });
    expect(stampOf('b', versionKey)).toBe('v0');
    expect(lines).toContainEqual({ event: 'claim-not-stamped', claim: 'b', why: expect.stringContaining('busy') });
    outside.onRequest = () => undefined;
    await follow(ports, { kind, name });
    expect([stampOf('b', versionKey), stampOf('b', hashKey)]).toEqual([
      'v3',
      server.get(plural, name)?.metadata.annotations?.[hashKey],
    ]);
  });
});
