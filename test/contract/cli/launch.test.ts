import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseCommand } from '../../../cli/command.ts';
import { launchFromFiles } from '../../../cli/launch/launch-from-files.ts';
import { WrongInputError } from '../../../cli/wrong-input.ts';
import { readCustomData } from '../../../sandbox/node/custom-data.ts';
import { golden } from '../../kit/azure/read.ts';
import { settingsOf } from '../../kit/azure/orders.ts';

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  template:
    metadata: { labels: { team: a } }
    spec:
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
      requirements:
        - { key: example.com/tier, operator: In, values: [gold] }
        - { key: karpenter.sh/capacity-type, operator: In, values: [spot] }
`;
const zone = (name: string, forwardDestination: string): object => ({
  zone: name,
  queryLogging: 'Error',
  protocol: 'PreferUDP',
  forwardDestination,
  forwardPolicy: 'Sequential',
  maxConcurrent: 1_000,
  cacheDuration: '1h',
  serveStaleDuration: '1h',
  serveStale: 'Immediate',
});
const ZONES = JSON.stringify([zone('.', 'VnetDNS'), zone('cluster.local', 'ClusterCoreDNS')]);
const CLASS = `
apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata: { name: default }
spec: { imageFamily: AzureLinux, localDNS: { mode: Required, vnetDNSOverrides: ${ZONES}, kubeDNSOverrides: ${ZONES} } }
`;

let folder = '';

/** Writes a file and answers its path. */
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const settings = (more: Readonly<Record<string, string | undefined>> = {}): string => {
  const { ServiceBus: _, SnapshotStorage: __, ...Values } = { ...settingsOf('overlay-cilium'), ...more };
  return file('settings.json', JSON.stringify({ IsEncrypted: false, Values }));
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'launch-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Document {
  readonly vm: { readonly properties: { readonly priority: string; readonly hardwareProfile: object } };
  readonly nic: object;
  readonly extension: object;
  readonly nodeConfig: object;
  readonly kubeletFlags: Readonly<Record<string, string>>;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly customData: string;
}

interface Words {
  readonly files?: ReadonlyArray<string>;
  readonly settings?: string;
  readonly words?: ReadonlyArray<string>;
}

/** What the command prints for these words beside those that every launch needs. */
async function launch(given: Words = {}) {
  const files = given.files ?? [file('pool.yaml', POOL), file('class.yaml', CLASS)];
  const command = parseCommand([
    'launch',
    ...files.flatMap((path) => ['-f', path]),
    '--settings',
    given.settings ?? settings(),
    '--kubernetes',
    '1.34.2',
    ...(given.words ?? ['--size', 'standard_d4s_v5', '--skus', file('skus.json', JSON.stringify(skus()))]),
  ]);
  if (command.kind !== 'launch') throw new Error(command.kind);
  const { text, notes } = await launchFromFiles(command, Readable.from([]));
  return { notes, document: (command.output === 'json' ? JSON.parse(text) : parse(text)) as Document };
}

/** A size as ARM lists it, under another name. */
function skus(): object {
  const all = golden('skus') as { readonly southcentralus: ReadonlyArray<{ readonly name: string }> };
  const one = all.southcentralus.find(({ name }) => name === 'Standard_D64s_v3');
  return { value: [{ ...one, name: 'Standard_D4s_v5' }] };
}

const problemsOf = async (given: Words): Promise<ReadonlyArray<string>> => {
  const failure: unknown = await launch(given).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(failure instanceof WrongInputError)) throw new Error(`it was taken, or failed otherwise: ${String(failure)}`);
  return failure.problems.map(({ path, message, fix }) => `${path}: ${message} (${fix})`);
};

describe('nodewright launch', () => {
  test('shows what is sent and booted, and that one follows from the other', async () => {
    const { document, notes } = await launch();
    expect(Object.keys(document)).toEqual([
      'vm',
      'nic',
      'extension',
      'nodeConfig',
      'kubeletFlags',
      'nodeLabels',
      'customData',
    ]);
    expect(document.vm.properties).toMatchObject({ priority: 'Spot', hardwareProfile: { vmSize: 'Standard_D4s_v5' } });
    expect(readCustomData(document.customData)).toEqual({ kind: 'config', config: document.nodeConfig });
    expect(document.nodeConfig).toMatchObject({
      kubelet_config: { kubelet_flags: document.kubeletFlags, kubelet_node_labels: document.nodeLabels },
    });
    expect(document.nodeLabels).toMatchObject({
      team: 'a',
      'example.com/tier': 'gold',
      'karpenter.sh/capacity-type': 'spot',
      'kubernetes.azure.com/os-sku-effective': 'AzureLinux3',
      'kubernetes.azure.com/localdns-state': 'enabled',
    });
    expect(document.kubeletFlags['--cluster-dns']).toBe('169.254.10.11');
    expect(document.extension).toMatchObject({ name: 'computeAksLinuxBilling' });
    expect(notes).toEqual([]);
  });

  test('prints JSON as well, and takes zone and capacity type', async () => {
    const words = ['--size', 'Standard_D4s_v5', '--skus', file('skus.json', JSON.stringify(skus()))];
    const either = POOL.replace('values: [spot]', 'values: [spot, on-demand]');
    const { document } = await launch({
      files: [file('either.yaml', either), file('class.yaml', CLASS)],
      words: [...words, '--zone', '2', '--capacity-type', 'on-demand', '-o', 'json'],
    });
    expect(document.vm).toMatchObject({ zones: ['2'], properties: { priority: 'Regular' } });
    const { document: regional } = await launch({ words: [...words, '--zone', '0'] });
    expect(regional.nodeLabels).toMatchObject({ 'karpenter.azure.com/placement-scope': 'regional' });
  });

  test('uses the sizes that come along, says what it has to assume, and shows no secret', async () => {
    const { document, notes } = await launch({
      files: [file('pool.yaml', POOL)],
      settings: settings({
        LOCATION: 'westeurope',
        VNET_SUBNET_ID: settingsOf('nodesubnet-byo').VNET_SUBNET_ID,
        DNS_SERVICE_IP: undefined,
      }),
      words: ['--size', 'Standard_D4s_v5', '--zone', 'westeurope-9'],
    });
    expect(notes.join('\n')).toMatch(
      /AKSNodeClass default is not given[\s\S]*digits 00000000[\s\S]*DNS_SERVICE_IP is missing[\s\S]*westeurope-9: Azure would refuse it/,
    );
    expect(JSON.stringify(document.nodeConfig)).toContain('000000.0000000000000000');
  });

  test('takes the sample settings as they are, and says in one line what is read from Azure', async () => {
    const sample = join(import.meta.dirname, '../../../local.settings.sample.json');
    const { notes } = await launch({ settings: sample, words: ['--size', 'Standard_D4s_v5'] });
    expect(notes.filter((note) => note.includes('missing'))).toEqual([
      'CLUSTER_CA_DATA, DNS_SERVICE_IP, AZURE_TENANT_ID, VNET_GUID are missing: they are read from Azure at launch, and left empty here unless the settings have them',
    ]);
  });

  test.for<readonly [string, string, ReadonlyArray<string>, RegExp]>([
    [
      'a family',
      '{ key: karpenter.azure.com/sku-family, operator: In, values: [D] }',
      ['--size', 'Standard_E4s_v5'],
      /^--size: NodePool general requires karpenter.azure.com\/sku-family In \[D\], and Standard_E4s_v5 has E \(choose another size/,
    ],
    [
      'fewer CPUs',
      '{ key: karpenter.azure.com/sku-cpu, operator: Lt, values: ["4"] }',
      ['--size', 'Standard_D4s_v5'],
      /sku-cpu Lt \[4\], and Standard_D4s_v5 has 4/,
    ],
    [
      'a GPU',
      '{ key: karpenter.azure.com/sku-gpu-name, operator: Exists }',
      ['--size', 'Standard_D4s_v5'],
      /sku-gpu-name Exists \[\], and Standard_D4s_v5 has no such label/,
    ],
    [
      'spot',
      '{ key: kubernetes.io/arch, operator: Exists }',
      ['--size', 'Standard_D4s_v5', '--capacity-type', 'on-demand'],
      /^--capacity-type: NodePool general requires karpenter.sh\/capacity-type In \[spot\]/,
    ],
    [
      'a zone',
      '{ key: topology.kubernetes.io/zone, operator: In, values: [westeurope-1] }',
      ['--size', 'Standard_D4s_v5', '--zone', '2'],
      /^--zone: NodePool general requires topology.kubernetes.io\/zone In \[westeurope-1\]/,
    ],
  ])('refuses what the NodePool does not allow: %s', async ([, requirement, words, message]) => {
    const pool = POOL.replace('      requirements:', `      requirements:\n        - ${requirement}`);
    const given = { files: [file('narrow.yaml', pool)], settings: settings({ LOCATION: 'westeurope' }), words };
    expect((await problemsOf(given)).join()).toMatch(message);
  });

  test.for<readonly [string, () => Words, RegExp]>([
    ['no pool', () => ({ files: [file('class.yaml', CLASS)] }), /^-f: holds no NodePool/],
    [
      'two pools',
      () => ({ files: [file('two.yaml', `${POOL}---${POOL.replace('general', 'other')}`)] }),
      /holds 2 NodePools/,
    ],
    [
      'settings that lack what a deployment must have',
      () => ({ settings: file('s.json', '{"Values":{}}') }),
      /CLUSTER_NAME, AZURE_SUBSCRIPTION_ID/,
    ],
    ['settings that are no JSON', () => ({ settings: file('s.json', 'a=b') }), /is no JSON object/],
    [
      'a setting that is no text',
      () => ({ settings: file('s.json', '{"CLUSTER_NAME":7}') }),
      /CLUSTER_NAME is no text/,
    ],
    [
      'a malformed setting',
      () => ({ settings: settings({ VNET_GUID: 'vnet' }) }),
      /VNET_GUID is "vnet": it has to be a GUID/,
    ],
    [
      'a size that is none',
      () => ({ words: ['--size', 'Standard_D4x'], settings: settings({ LOCATION: 'westeurope' }) }),
      /--size: "Standard_D4x" is not one/,
    ],
    [
      'a size that is nearly one',
      () => ({ words: ['--size', 'Standard_D4s_v55'], settings: settings({ LOCATION: 'westeurope' }) }),
      /did you mean Standard_D4s_v5\? see the sizes of westeurope/,
    ],
    [
      'a key that is none',
      () => ({ settings: settings({ SSH_PUBLIC_KEY: 'AAAA' }) }),
      /SSH_PUBLIC_KEY is "AAAA": it has to be ssh-ed25519 AAAA… or ssh-rsa AAAA…/,
    ],
    ['a region without sizes', () => ({ words: ['--size', 'Standard_D4s_v5'] }), /no prices of "southcentralus"/],
    ['sizes that are no list', () => ({ words: ['--size', 'x', '--skus', file('k.json', '{}')] }), /lists no sizes/],
    [
      'sizes of another region',
      () => ({ words: ['--size', 'x', '--skus', file('k.json', '[{"name":"a"}]')] }),
      /no size of southcentralus/,
    ],
    [
      'a zone that is none',
      () => ({
        words: ['--size', 'Standard_D4s_v5', '--zone', 'north', '--skus', file('skus.json', JSON.stringify(skus()))],
      }),
      /--zone: "north" is no zone/,
    ],
  ])('refuses %s by name', async ([, given, message]) => {
    expect((await problemsOf(given())).join('\n')).toMatch(message);
  });

  test.for([
    [['launch', '-f', 'x'], '--settings: is missing'],
    [['launch', '-f', 'x', '--settings', 's'], '--kubernetes: is missing'],
    [['launch', '-f', 'x', '--settings', 's', '--kubernetes', 'latest'], '--kubernetes: "latest" is no version'],
    [['launch', '-f', 'x', '--settings', 's', '--kubernetes', '1.34.2'], '--size: is missing'],
    [
      ['launch', '-f', 'x', '--settings', 's', '--kubernetes', '1.34.2', '--size', 's', '--capacity-type', 'free'],
      '--capacity-type: "free" is not one',
    ],
    [
      ['launch', '-f', 'x', '--settings', 's', '--kubernetes', '1.34.2', '--size', 's', '-o', 'table'],
      '-o: "table" is not a format',
    ],
    [['launch', '-f', 'x', '--catalog', 'c'], '--catalog: is not an option'],
  ] as const)('%j is refused with what is missing', ([words, message]) => {
    expect(() => parseCommand(words)).toThrow(message);
  });

  test('explains itself', () => {
    expect(parseCommand(['launch', '--help'])).toMatchObject({
      kind: 'help',
      text: expect.stringContaining('--settings FILE'),
    });
  });
});
