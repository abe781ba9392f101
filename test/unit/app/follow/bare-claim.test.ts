import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { START, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/**
 * A claim that somebody wrote by hand says nothing but its class; its Node and its machine say as little as the API
 * lets them.
 */

const nodeClassReference = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
const claim = { kind: 'NodeClaim', name: 'c' } as const;

function written(spec: Fields = {}) {
  const cluster = smallCluster();
  const { server, ports } = cluster;
  const logged: Array<string> = [];
  const own: Ports = { ...ports, log: (event) => void logged.push(event) };
  server.create('nodeclaims', {
    metadata: { name: 'c' },
    spec: { nodeClassRef: nodeClassReference, requirements: [], ...spec },
  });
  const joins = (node: Fields = {}) => {
    server.create('nodes', { metadata: { name: 'aks-c' }, spec: { providerID: 'azure://c' }, ...node });
    server.patch('nodes', 'aks-c', { status: { conditions: [since(START, 'Ready')] } }, 'status');
  };
  return { ...cluster, ports: own, logged, joins, look: () => follow(own, claim) };
}

describe('a claim that says nothing', () => {
  test('gets a machine, a node and is ready, as any other', async () => {
    const { addClass, look, joins, azure, conditionOf, server, logged } = written();
    addClass('True');
    await look();
    expect(azure.orders).toMatchObject([{ claim: 'c', nodePool: null, taints: [], startupTaints: [] }]);
    joins();
    await look();
    await look();
    for (const type of ['Launched', 'Registered', 'Initialized', 'Ready']) {
      expect(conditionOf('c', type)).toMatchObject({
        status: 'True',
        observedGeneration: expect.any(Number) as number,
      });
    }
    expect(server.get('nodes', 'aks-c')?.metadata.labels).toMatchObject({ 'karpenter.sh/initialized': 'true' });
    expect(logged).toEqual(['nodeclaim-launched', 'nodeclaim-registered', 'nodeclaim-initialized']);
  });

  test('is owned by nobody and owns its node, which holds on to it [J02]', async () => {
    const { addClass, look, joins, server } = written();
    addClass('True');
    await look();
    joins();
    await look();
    expect(server.get('nodes', 'aks-c')?.metadata).toMatchObject({
      finalizers: ['karpenter.sh/termination'],
      ownerReferences: [{ kind: 'NodeClaim', name: 'c', blockOwnerDeletion: true }],
    });
  });

  test('is labelled with its class, and so is its node [J09]', async () => {
    const { addClass, look, joins, server } = written();
    addClass('True');
    await look();
    joins();
    await look();
    const labels = { 'karpenter.azure.com/aksnodeclass': 'default' };
    expect(server.get('nodeclaims', 'c')?.metadata.labels).toMatchObject(labels);
    expect(server.get('nodes', 'aks-c')?.metadata.labels).toMatchObject(labels);
  });

  test('is launched without that label where the name of its class is too long for one', async () => {
    const name = 'x'.repeat(64);
    const { addClass, look, conditionOf, server } = written({ nodeClassRef: { ...nodeClassReference, name } });
    addClass('True', name);
    await look();
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
    expect(server.get('nodeclaims', 'c')?.metadata.labels).not.toHaveProperty(['karpenter.azure.com/aksnodeclass']);
  });

  test('waits for a class that is not there yet, and is given up when it does not come', async () => {
    const { look, stateOf, clock, server } = written();
    expect(await look()).toMatchObject({ kind: 'wait' });
    expect(stateOf('c')).toBe('there');
    clock.advance(5_000);
    await look();
    const [event] = server.list('events') as unknown as ReadonlyArray<Fields>;
    expect(event).toMatchObject({
      reason: 'NodeClassNotReady',
      message: expect.stringContaining('does not exist') as string,
    });
  });

  test('does not take a node of its name without a machine, and says why', async () => {
    const { addClass, look, joins, conditionOf, azure } = written();
    addClass('True');
    await look();
    joins({ spec: {} });
    await look();
    expect(conditionOf('c', 'Registered')).toMatchObject({
      status: 'Unknown',
      message: 'Node aks-c has providerID (none)',
    });
    azure.machines.clear();
    expect(await look()).toMatchObject({ kind: 'ended' });
  });
});

describe('a node keeps the taints that it joined with', () => {
  const taints = (spec: Fields, joined: ReadonlyArray<Fields>) => {
    const made = written(spec);
    made.addClass('True');
    return made
      .look()
      .then(() => made.joins({ spec: { providerID: 'azure://c', taints: joined } }))
      .then(() => made.look())
      .then(() => made.server.get('nodes', 'aks-c')?.spec?.['taints']);
  };
  const own = { key: 'own', effect: 'NoSchedule' };

  test('and gets those of its claim that it lacks, each effect by itself', async () => {
    expect(await taints({ taints: [own] }, [])).toEqual([own]);
    expect(await taints({ taints: [own] }, [own])).toEqual([own]);
    const harder = { key: 'own', effect: 'NoExecute' };
    expect(await taints({ taints: [own] }, [harder])).toEqual([harder, own]);
  });
});
