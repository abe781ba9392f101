import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { alone } from '../../../../../shared/app/ports/in-parallel.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { START, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

/** What becomes of the Node of a claim that is being deleted, and what is said of it. */

const finalizer = 'karpenter.sh/termination';
const interruption = 'nodewright.dev/interruption';
const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => since(START, type));

interface Given {
  readonly annotations?: Fields;
  readonly withMachine?: boolean;
  readonly nodeReady?: string;
}

/** A claim `c` that is being deleted, with its Node. */
function leaving({ annotations = {}, withMachine = true, nodeReady = 'True' }: Given = {}) {
  const cluster = smallCluster();
  const { server, azure, ports } = cluster;
  cluster.addClaim('c', { annotations, status: { providerID: 'azure://c', conditions } });
  if (withMachine) azure.machines.set('c', machine('c'));
  cluster.addNode('c', { ready: nodeReady, finalizers: [finalizer] });
  server.delete('nodeclaims', 'c');
  return {
    ...cluster,
    look: (through = ports) => follow(through, { kind: 'NodeClaim', name: 'c' }),
    node: () => server.get('nodes', 'aks-c'),
  };
}

describe('another Node of the name, made between the last look at it and its deletion,', () => {
  /** By the first deletion of the Node another has its name; it says whether it is being deleted. */
  function replaced(given: Given) {
    const cluster = leaving(given);
    cluster.outside.onRequest = ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/nodes/aks-c')) return;
      cluster.outside.onRequest = () => undefined;
      cluster.server.patch('nodes', 'aks-c', { metadata: { finalizers: [] } }, 'object');
      cluster.server.remove('nodes', 'aks-c');
      cluster.addNode('c', { id: 'other' });
    };
    return {
      ...cluster,
      isThere: () => cluster.node() !== null && !('deletionTimestamp' in (cluster.node()?.metadata ?? {})),
    };
  }

  test('is not deleted while its namesake is emptied', async () => {
    const { look, isThere, addRunning } = replaced({});
    addRunning('web', 'c');
    await alone(look);
    expect(isThere()).toBe(true);
  });

  test('is not deleted where the machine has gone before', async () => {
    const { look, isThere } = replaced({ withMachine: false, nodeReady: 'Unknown' });
    await alone(look);
    expect(isThere()).toBe(true);
  });
});

test('another Node of the name, made once the first is deleted, keeps its finalizer', async () => {
  const { look, server, outside, addNode, node } = leaving({ withMachine: false, nodeReady: 'Unknown' });
  let isDeleted = false;
  outside.onRequest = ({ method, path }) => {
    if (!path.endsWith('/nodes/aks-c')) return;
    if (isDeleted && method === 'GET') {
      outside.onRequest = () => undefined;
      server.remove('nodes', 'aks-c');
      addNode('c', { id: 'other', finalizers: [finalizer] });
    }
    isDeleted ||= method === 'DELETE';
  };
  await alone(look);
  expect([isDeleted, node()?.metadata.finalizers]).toEqual([true, [finalizer]]);
  expect(node()?.metadata).not.toHaveProperty('deletionTimestamp');
});

test.each([
  ['deleted', {}],
  ['interruption', { [interruption]: 'preempt by then' }],
  ['disruption', { 'nodewright.dev/disruption': '1-abc' }],
  ['given-up', { 'nodewright.dev/given-up': 'RegistrationTimeout' }],
  ['interruption', { [interruption]: 'preempt by then', 'nodewright.dev/disruption': '1-abc' }],
])('the log says who has a node removed: %s', async (cause, annotations) => {
  const { look, ports, addRunning } = leaving({ annotations });
  addRunning('web', 'c');
  const logged: Array<readonly [string, object]> = [];
  await look({ ...ports, log: (event, facts) => void logged.push([event, facts]) });
  expect(logged).toContainEqual(['node-draining', expect.objectContaining({ node: 'aks-c', cause })]);
});

test('a claim without a grace period says nothing of a deadline', async () => {
  const { look, server, addRunning } = leaving();
  addRunning('web', 'c');
  await look();
  const reasons = server.list('events').map((event) => (event as Fields)['reason'] as string);
  expect(reasons).not.toContain('TerminationGracePeriodExpiring');
});
