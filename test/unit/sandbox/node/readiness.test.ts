import { describe, expect, test } from 'vitest';
import { cannotJoin, staysNotReady } from '../../../../sandbox/node/readiness.ts';
import { missingFields, variablesOf } from '../../../../sandbox/node/node-controller.ts';
import { nodeConfig } from '../../../../shared/adapters/azure/bootstrap/node-config.ts';
import { kubeletOf } from '../../../../sandbox/node/readiness.ts';
import { networkModeOf } from '../../../../shared/adapters/azure/network/network-mode.ts';
import { order, place, settings } from '../../../kit/azure/launch-order.ts';

const facts = { ...place, kubernetesVersion: '1.34.2', token: 'abcdef.0123456789abcdef' };

const networks = [
  ['overlay with Cilium', { NETWORK_POLICY: 'cilium' }],
  ['overlay', { NETWORK_DATAPLANE: 'azure', NETWORK_POLICY: 'azure' }],
  ['the nodes’ subnet', { NETWORK_PLUGIN_MODE: '', NETWORK_DATAPLANE: 'azure' }],
  ['the nodes’ subnet with Cilium', { NETWORK_PLUGIN_MODE: '', NETWORK_DATAPLANE: 'cilium' }],
  ['a plugin of one’s own', { NETWORK_PLUGIN: 'none' }],
] as const;

/** A node as the product makes it in a network, and why it would stay not ready in another. */
function nodeOf(more: object) {
  const given = { ...settings, CLUSTER_CA_DATA: 'Y2E=', ...more };
  const config = nodeConfig(order, given, facts) as Readonly<Record<string, unknown>>;
  const variables = variablesOf(config);
  const node = { variables, ...kubeletOf(config) };
  return {
    node,
    obstacle: cannotJoin(variables, missingFields(config)),
    whyNotIn: (other: object) => staysNotReady(networkModeOf({ ...settings, ...other }), node),
  };
}

describe.each(networks)('a node made for %s', (_, network) => {
  test('joins, and becomes ready in its network', () => {
    const { obstacle, whyNotIn } = nodeOf(network);
    expect([obstacle, whyNotIn(network)]).toEqual([null, null]);
  });
});

test.each([
  ['overlay with Cilium', networks[1][1], networks[0][1], /ebpf-dataplane=cilium/],
  ['overlay', networks[4][1], networks[1][1], /azure-cni-overlay=true/],
  ['the nodes’ subnet', networks[1][1], networks[2][1], /has network plugin 'none', not 'azure'/],
  ['overlay, made for the nodes’ subnet', networks[2][1], networks[1][1], /has network plugin 'azure', not 'none'/],
])('a node that was made for another network stays not ready in %s, and says why', (_, made, there, why) => {
  expect(nodeOf(made).whyNotIn(there)).toMatch(why);
});

test('a node whose kubelet would serve anybody does not count as ready', () => {
  const { node } = nodeOf({});
  const mode = networkModeOf(settings);
  for (const flag of ['--anonymous-auth', '--authorization-mode', '--read-only-port', '--client-ca-file']) {
    const { [flag]: _, ...flags } = node.flags;
    expect(staysNotReady(mode, { ...node, flags })).toContain(flag);
  }
});

test('a node without what it needs to reach the API server does not join', () => {
  expect(nodeOf({ CLUSTER_CA_DATA: '' }).obstacle).toBe('the node’s scripts have no KUBE_CA_CRT'.replace('’', "'"));
  expect(cannotJoin({}, ['version'])).toContain('version');
});
