import { describe, expect, test } from 'vitest';
import { variablesOf } from '../../../../../sandbox/node/node-controller.ts';
import { nodeConfig } from '../../../../../shared/adapters/azure/bootstrap/node-config.ts';
import { clusterNames } from '../../../../../shared/adapters/azure/machines/network-place.ts';
import { orderFor, settingsOf } from '../../../../kit/azure/orders.ts';
import { type Launch, golden, launches } from '../../../../kit/azure/read.ts';

interface NodeConfig {
  readonly [field: string]: unknown;
  readonly kubelet_config: {
    readonly kubelet_flags: Readonly<Record<string, string>>;
    readonly kubelet_node_labels: Readonly<Record<string, string>>;
  };
}

const TOKEN = 'abcdef.0123456789abcdef';

const configs = new Map<Launch, NodeConfig>();

/** The configuration that our node gets where the provider launches its own; made once for all tests of it. */
function configFor(launch: Launch): NodeConfig {
  const config = configs.get(launch) ?? newConfigFor(launch);
  configs.set(launch, config);
  return config;
}

function newConfigFor(launch: Launch): NodeConfig {
  const names = clusterNames('aks-agentpool-12345678-nsg', '');
  const facts = { ...names, kubernetesVersion: launch.kubernetes, token: TOKEN };
  return nodeConfig(orderFor(launch), settingsOf(launch.network), facts) as NodeConfig;
}

/**
 * Where we differ from the provider on purpose: `docs/bootstrap.md` has the reasons. Each takes our value to the
 * provider's, so that a row is compared whole.
 */
const FLAGS: Readonly<Record<string, (ours: string) => string>> = {
  '--eviction-hard': (ours) => ours.replace(',nodefs.available<10%,nodefs.inodesFree<5%', ''),
  // The same amount in another unit.
  '--kube-reserved': (ours) => ours.replace('memory=17408Mi', 'memory=17Gi'),
};

/** The run that made the rows left these out, or wrong (README of the data). */
const DROPPED = new Set([
  'kubernetes.azure.com/priority',
  'kubernetes.azure.com/scalesetpriority',
  'karpenter.azure.com/sku-hyperv-generation',
  'topology.kubernetes.io/zone',
]);

const without = (labels: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !DROPPED.has(key)));

/** AgentBaker's own words for the provider's: it writes the first so, and knows no policy of Cilium's. */
const VARIABLES: Readonly<Record<string, (theirs: string) => string>> = {
  LOAD_BALANCER_SKU: (theirs) => theirs.toLowerCase(),
  NETWORK_POLICY: (theirs) => (theirs === 'cilium' ? '' : theirs),
};

const rows = launches();
const networks = [...new Set(rows.map(({ network }) => network))];

describe.each(networks)('a node of the network %s', (network) => {
  const own = rows.filter((row) => row.network === network);

  test(`has the provider's kubelet flags, in ${own.length} launches`, () => {
    for (const launch of own) {
      const { kubelet_flags: flags } = configFor(launch).kubelet_config;
      const alike = Object.entries(flags).map(([flag, value]) => [flag, FLAGS[flag]?.(value) ?? value]);
      expect(Object.fromEntries(alike), nameOf(launch)).toEqual(launch.kubeletFlags);
    }
  });

  test('has the provider’s labels', () => {
    for (const launch of own) {
      const { kubelet_node_labels: labels } = configFor(launch).kubelet_config;
      expect(without(labels), nameOf(launch)).toEqual(without(launch.nodeLabels));
      expect(labels, nameOf(launch)).toMatchObject({
        'topology.kubernetes.io/zone': 'southcentralus-1',
        'kubernetes.azure.com/scalesetpriority': launch.capacityType === 'spot' ? 'spot' : 'regular',
      });
    }
  });

  test('makes AgentBaker arrive at the provider’s variables', () => {
    for (const launch of own) {
      const variables = variablesOf(configFor(launch));
      const names = Object.keys(variables).filter((name) => name in launch.variables);
      expect(names.length).toBeGreaterThan(30);
      const theirs = names.map((name) => [
        name,
        VARIABLES[name]?.(launch.variables[name] ?? '') ?? launch.variables[name],
      ]);
      const ours = names.map((name) => [name, variables[name]]);
      expect(Object.fromEntries(ours), nameOf(launch)).toEqual(Object.fromEntries(theirs));
    }
  });
});

function nameOf({ nodeClass, kubernetes, size, capacityType }: Launch): string {
  return `${nodeClass} ${kubernetes} ${size} ${capacityType}`;
}

describe('what nobody may get wrong', () => {
  const SAFE = {
    '--anonymous-auth': 'false',
    '--authentication-token-webhook': 'true',
    '--authorization-mode': 'Webhook',
    '--client-ca-file': '/etc/kubernetes/certs/ca.crt',
    '--read-only-port': '0',
    '--rotate-certificates': 'true',
  };

  test('a kubelet lets nobody in whom the API server does not know, in every configuration', () => {
    for (const launch of rows) {
      expect(configFor(launch).kubelet_config.kubelet_flags, nameOf(launch)).toMatchObject(SAFE);
    }
  });

  test('the token is the only secret of a node’s configuration', () => {
    for (const launch of rows.filter((_, index) => index % 50 === 0)) {
      const text = JSON.stringify(configFor(launch)).replace(TOKEN, '');
      expect(text).not.toMatch(/[a-z0-9]{6}\.[a-z0-9]{16}|PRIVATE KEY|password/i);
    }
  });
});

describe('the pairs of AgentBaker’s contract', () => {
  interface Pair {
    readonly name: string;
    readonly launch: Launch;
    readonly nodeConfig: NodeConfig;
  }
  const { pairs } = golden('node-config-pairs') as { readonly pairs: ReadonlyArray<Pair> };
  /** Pairs whose configuration has what no row of the provider's does; each has a test of its own in `bootstrap`. */
  const BEYOND = new Set(['kubelet-file', 'kubelet-file-1.35', 'localdns', 'sysctl-ulimit-swap-thp']);
  const rowsOnly = pairs.filter(({ name }) => !BEYOND.has(name));

  test('are sixteen that rows are made from', () => {
    expect(rowsOnly).toHaveLength(16);
  });

  test.each(rowsOnly.map((pair) => [pair.name, pair] as const))('%s: ours is the same configuration', (_, pair) => {
    const { kubelet_config: ours, ...config } = configFor(pair.launch);
    const { kubelet_config: theirs, ...expected } = pair.nodeConfig;
    expect(config).toEqual(expected);
    expect(ours.kubelet_node_labels).toEqual(theirs.kubelet_node_labels);
    const alike = Object.entries(ours.kubelet_flags).map(([flag, value]) => [flag, FLAGS[flag]?.(value) ?? value]);
    expect(Object.fromEntries(alike)).toEqual(theirs.kubelet_flags);
  });
});
