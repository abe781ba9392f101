import type { NetworkManagementClient } from '@azure/arm-network';
import { describe, expect, test } from 'vitest';
import { createNetworkPlaces } from '../../../../../shared/adapters/azure/machines/network-place.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { NodeClass } from '../../../../../shared/ports/kubernetes.ts';
import { armError } from '../../../../kit/azure/fake-azure.ts';
import { settings, subnet } from '../../../../kit/azure/launch-order.ts';

const HOUR = 3_600_000;
const nsg = { name: 'aks-agentpool-12345678-nsg', id: '/nsg' };
const pool = (name: string, more: object = {}): object => ({ name, id: `/pools/${name}`, ...more });

/** Places in a network that holds this, and how often it was read. */
function placesIn(given: {
  readonly balancers?: ReadonlyArray<object>;
  readonly groups?: ReadonlyArray<object>;
  readonly failures?: number;
}) {
  const state = { reads: 0, nowMs: 1_000_000, groupsAsked: new Set<string>() };
  async function* rows(all: ReadonlyArray<object>): AsyncIterable<object> {
    yield* all;
  }
  const client = {
    loadBalancers: {
      list(group: string) {
        state.groupsAsked.add(group);
        state.reads += 1;
        if (state.reads <= (given.failures ?? 0)) throw armError(503, 'Busy', 'busy', { 'retry-after': '2' });
        return rows(given.balancers ?? []);
      },
    },
    networkSecurityGroups: { list: (group: string) => rows(state.groupsAsked.add(group) && (given.groups ?? [nsg])) },
  } as unknown as NetworkManagementClient;
  const places = createNetworkPlaces(
    () => Promise.resolve(client),
    settings,
    () => state.nowMs,
  );
  const place = (vnetSubnetID?: string) =>
    places({
      metadata: { name: 'd' },
      spec: vnetSubnetID === undefined ? {} : { vnetSubnetID },
    } satisfies NodeClass);
  return { state, place };
}

describe('nodes join', () => {
  test('the pools of the cluster’s own load balancers, but those that are not for nodes', async () => {
    const { place, state } = placesIn({
      balancers: [
        {
          name: 'Kubernetes',
          backendAddressPools: [
            pool('kubernetes'),
            pool('aksOutboundBackendPool'),
            pool('aksOutboundBackendPool-IPv6'),
            pool('Kubernetes-ipv6'),
            { name: 'nameless' },
          ],
        },
        { name: 'kubernetes-internal', backendAddressPools: [pool('internal')] },
        { name: 'other', backendAddressPools: [pool('strange')] },
        { backendAddressPools: [pool('of-nobody')] },
        { name: 'kubernetes' },
      ],
    });
    expect((await place()).backendPoolIds).toEqual([
      '/pools/kubernetes',
      '/pools/aksOutboundBackendPool',
      '/pools/internal',
    ]);
    expect([...state.groupsAsked]).toEqual(['MC_g_c_we']);
  });

  test('no pool that AKS fills by itself: one that lists addresses', async () => {
    const address = (ipAddress?: string) => ({
      loadBalancerBackendAddresses: [ipAddress === undefined ? {} : { ipAddress }],
    });
    const { place } = placesIn({
      balancers: [
        { name: 'kubernetes', backendAddressPools: [pool('a', address('10.0.0.4')), pool('b', address()), pool('c')] },
      ],
    });
    expect((await place()).backendPoolIds).toEqual(['/pools/b', '/pools/c']);
  });

  test('the subnet of their class, else the cluster’s', async () => {
    const { place } = placesIn({});
    expect((await place()).subnetId).toBe(subnet);
    expect((await place('/other')).subnetId).toBe('/other');
  });

  test('AKS’s security group, where the subnet is not AKS’s own', async () => {
    const groups = [
      { name: 'mine' },
      {},
      { name: 'aks-agentpool-1-nsg', id: '/short' },
      { ...nsg, name: nsg.name.toUpperCase() },
    ];
    const { place } = placesIn({ groups });
    expect((await place()).securityGroupId).toBe('/nsg');
    const own = (group: string, vnet: string, name = 'aks-subnet'): string =>
      `/subscriptions/s/resourceGroups/${group}/providers/Microsoft.Network/virtualNetworks/${vnet}/subnets/${name}`;
    expect((await place(own('mc_G_C_we', 'aks-vnet-12345678'))).securityGroupId).toBeNull();
    expect((await place(own('other', 'aks-vnet-12345678'))).securityGroupId).toBe('/nsg');
    expect((await place(own('MC_g_c_we', 'aks-vnet-1'))).securityGroupId).toBe('/nsg');
    expect((await place(own('MC_g_c_we', 'aks-vnet-12345678', 'aks-subnet-2'))).securityGroupId).toBe('/nsg');
    expect((await placesIn({ groups: [{ name: 'mine', id: '/x' }] }).place()).securityGroupId).toBeNull();
    expect((await placesIn({ groups: [{ name: nsg.name }] }).place()).securityGroupId).toBeNull();
  });
});

describe('the network', () => {
  test('is read once for all classes, and again after two hours', async () => {
    const { place, state } = placesIn({});
    await Promise.all([place(), place('/other')]);
    state.nowMs += 2 * HOUR;
    await place();
    expect(state.reads).toBe(1);
    state.nowMs += 1;
    await place();
    expect(state.reads).toBe(2);
  });

  test('that cannot be read is read anew by the next launch', async () => {
    const { place, state } = placesIn({ failures: 1 });
    const failure = await place().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ retryAfterMs: 2_000, message: 'reading the network of MC_g_c_we: 503 Busy busy' });
    expect((await place()).subnetId).toBe(subnet);
    expect(state.reads).toBe(2);
  });
});
