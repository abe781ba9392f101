import { expect, test } from 'vitest';
import { createCompletion } from '../../../../../shared/adapters/azure/network/complete-settings.ts';
import { createNodeClassFacts } from '../../../../../shared/adapters/azure/classes/node-class-facts.ts';

test('a setting that its own check calls wrong is no identity that nodes drift from', async () => {
  const settings = {
    KUBELET_IDENTITY_CLIENT_ID: 'agentpool',
    AZURE_NODE_RESOURCE_GROUP: 'g',
    AZURE_SUBSCRIPTION_ID: 's',
    VNET_SUBNET_ID: '/subnets/a',
  } as never;
  const fails = (): Promise<never> => Promise.reject(new Error('no'));
  const clients = { graph: fails, network: fails } as never;
  const now = (): number => 0;
  const complete = createCompletion(clients, settings, now);
  const facts = createNodeClassFacts(clients, settings, complete, now);
  expect((await facts.deployment()).kind).toBe('refused');
  expect(await facts.kubeletIdentity()).toBeNull();
});
