import { expect, test } from 'vitest';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { POLICY, denying, smallCluster } from '../../../kit/app/small-cluster.ts';

/** A cluster of two overlays of which nobody has judged any, and of which no status of `a` can be written. */
async function judged(how: 'denied' | 'busy') {
  const cluster = smallCluster();
  const { server, outside } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const spec = {
    requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2_v5'] }],
  };
  for (const name of ['a', 'b'])
    server.create('nodeoverlays', { metadata: { name }, spec: { ...spec, price: '0.05' } });
  const policy = denying('PATCH', '/nodeoverlays/a/status');
  outside.deny = (request) => {
    if (how === 'busy' && policy(request) !== null) throw new RetryableError('busy');
    return policy(request);
  };
  const lines: Array<Fields> = [];
  const gates = { ...cluster.ports.policy.gates, nodeOverlay: true };
  const log = (event: string, facts: object): void => void lines.push({ event, ...facts });
  const outcome = await provision({ ...cluster.ports, policy: { ...cluster.ports.policy, gates }, log });
  const patched = cluster.trace.filter((step) => step.startsWith('PATCH') && step.endsWith('/status'));
  return { outcome, lines, patched, events: server.list('events') as ReadonlyArray<Fields> };
}

test('a status that may not be written keeps no other from being written, and says so on its object', async () => {
  const { outcome, events, patched } = await judged('denied');
  expect(outcome.kind).toBe('idle');
  expect(patched).toHaveLength(2);
  expect(events).toEqual([
    expect.objectContaining({ reason: 'WriteDenied', message: expect.stringContaining(POLICY) }),
  ]);
  expect(events[0]?.['involvedObject']).toMatchObject({ kind: 'NodeOverlay', name: 'a' });
});

test('a status that cannot be written now is in the log, and fails no look', async () => {
  const { outcome, lines, patched } = await judged('busy');
  expect([outcome.kind, patched.length]).toEqual(['idle', 2]);
  expect(lines).toContainEqual({ event: 'status-not-written', name: 'a', why: 'busy' });
});
