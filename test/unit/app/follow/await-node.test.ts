import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { START, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** A claim `c` that was launched as `azure://c`, or has no providerID yet; a look is one run of `follow`. */
function launched(
  given: { readonly providerID?: string; readonly registered?: boolean } = { providerID: 'azure://c' },
) {
  const cluster = smallCluster();
  cluster.addClass('True');
  const { providerID, registered = false } = given;
  cluster.addClaim('c', {
    status: {
      ...(providerID === undefined ? {} : { providerID }),
      conditions: [since(START, 'Launched'), ...(registered ? [since(START, 'Registered')] : [])],
    },
  });
  return { ...cluster, look: () => follow(cluster.ports, { kind: 'NodeClaim', name: 'c' }) };
}

describe('a claim whose providerID names no machine, as the machine of its name is another', () => {
  test.each([false, true])('is deleted when it has no node, registered or not: %s', async (registered) => {
    const { azure, look, stateOf, clock } = launched({ providerID: 'azure://c', registered });
    azure.machines.set('c', machine('c', 'another'));
    clock.advance(60_001);
    expect((await look()).kind).toBe('ended');
    expect(stateOf('c')).toBe('leaving');
  });

  test('is deleted when that machine’s node is there', async () => {
    const { azure, look, addNode, stateOf, server } = launched();
    azure.machines.set('c', machine('c', 'another'));
    addNode('c', { id: 'another' });
    expect((await look()).kind).toBe('ended');
    expect(stateOf('c')).toBe('leaving');
    expect(server.list('events')).toMatchObject([{ reason: 'InstanceGone' }]);
    expect(server.get('nodes', 'aks-c')?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('a claim is left to wait', () => {
  test.each([
    ['its machine is there, whatever the case of its id', 'AZURE://C'],
    ['it has no providerID yet', undefined],
  ])('for its node while %s', async (_, providerID) => {
    const { azure, look, stateOf } = launched(providerID === undefined ? {} : { providerID });
    azure.machines.set('c', machine('c'));
    expect((await look()).kind).toBe('wait');
    expect(stateOf('c')).toBe('there');
  });

  test('for a node of its own, while another has its node’s name and its machine is there', async () => {
    const { azure, look, addNode, stateOf, conditionOf } = launched();
    azure.machines.set('c', machine('c'));
    addNode('c', { id: 'another' });
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 60_000 });
    expect(stateOf('c')).toBe('there');
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'Unknown', reason: 'NodeNotFound' });
  });

  test('for the right node though it has no providerID yet, when there is a node of its name', async () => {
    const { azure, look, addNode, stateOf } = launched({});
    azure.machines.set('c', machine('c'));
    addNode('c');
    expect((await look()).kind).toBe('wait');
    expect(stateOf('c')).toBe('there');
  });
});

test('a machine that Azure does not show within a minute of its launch is waited for: its reads may lag behind', async () => {
  const { look, stateOf, clock } = launched();
  clock.advance(60_000);
  expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 70_000 });
  expect(stateOf('c')).toBe('there');
});

test('a claim whose machine is gone is deleted, whether a node of its name is there or not', async () => {
  for (const withNode of [false, true]) {
    const { look, addNode, stateOf, clock } = launched();
    if (withNode) addNode('c', { id: 'another' });
    clock.advance(60_001);
    await look();
    expect(stateOf('c')).toBe('leaving');
  }
});

describe('a registered claim whose node is gone and whose machine runs', () => {
  const MINUTE_MS = 60_000;

  function bereft() {
    const cluster = launched({ providerID: 'azure://c', registered: true });
    cluster.server.patch('nodeclaims', 'c', { status: { nodeName: 'aks-c' } }, 'status');
    cluster.azure.machines.set('c', machine('c'));
    // An hour later, so that nothing is counted from its creation.
    cluster.clock.advance(60 * MINUTE_MS);
    return cluster;
  }

  test('says so, and looks each minute whether it has come back', async () => {
    const { look, conditionOf, clock } = bereft();
    expect(await look()).toMatchObject({ for: 'its node to come back', lookAgainMs: clock.now() + MINUTE_MS });
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'Unknown', reason: 'NodeNotFound' });
  });

  test('is given up 15 minutes after its node was missed, and its size is blamed for nothing', async () => {
    const { look, stateOf, clock, server, azure } = bereft();
    await look();
    clock.advance(15 * MINUTE_MS);
    expect(await look()).toMatchObject({ kind: 'wait' });
    clock.advance(1_000);
    expect(await look()).toMatchObject({ kind: 'ended' });
    expect([stateOf('c'), azure.refused]).toEqual(['leaving', []]);
    expect(server.list('events')).toMatchObject([{ reason: 'RegistrationTimeout' }]);
  });

  test('is registered anew where it comes back', async () => {
    const { look, addNode, conditionOf, clock } = bereft();
    await look();
    clock.advance(14 * MINUTE_MS);
    addNode('c');
    await look();
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'True' });
  });

  test('is deleted when its machine goes meanwhile, as one that had both', async () => {
    const { look, stateOf, azure, server } = bereft();
    await look();
    azure.machines.delete('c');
    await look();
    expect(stateOf('c')).toBe('leaving');
    expect(server.list('events')).toMatchObject([{ reason: 'InstanceGone' }]);
  });
});
