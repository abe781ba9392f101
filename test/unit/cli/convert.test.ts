import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseCommand } from '../../../cli/command.ts';
import { convertFromFiles } from '../../../cli/convert/convert-from-files.ts';
import { planFromFiles } from '../../../cli/plan/plan-from-files.ts';

type Fields = Readonly<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), 'nodewright-convert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function convert(text: string, region: string | null = null) {
  const command = { kind: 'convert', paths: ['-'], region, output: 'yaml' } as const;
  const outcome = await convertFromFiles(command, Readable.from([text]));
  const manifests = parseAllDocuments(outcome.text).map((one) => one.toJS() as Fields);
  return { ...outcome, manifests };
}

/** That all of it can be planned with, without a note about a field. */
async function expectUsable(text: string): Promise<void> {
  const file = join(folder, 'pools.yaml');
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'default' } };
  const spec = { containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '1', memory: '1Gi' } } }] };
  writeFileSync(file, `${text}---\n${JSON.stringify({ ...pod, spec })}\n`);
  const command = parseCommand(['plan', '-f', file, '--strict']);
  if (command.kind !== 'plan') throw new Error('not a plan');
  await planFromFiles(command, Readable.from([]));
}

const PROVISIONER = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: { name: old, resourceVersion: "7", annotations: { team: red, karpenter.sh/provisioner-hash: "1" } }
spec:
  labels: { tier: web }
  taints: [{ key: dedicated, value: web, effect: NoSchedule }]
  requirements: [{ key: karpenter.sh/capacity-type, operator: In, values: [spot] }]
  limits: { resources: { cpu: 100 } }
  weight: 10
  ttlSecondsUntilExpired: 2592000
  ttlSecondsAfterEmpty: 30
  kubeletConfiguration: { maxPods: 60, podsPerCore: 2 }
  providerRef: { name: bottlerocket }
`;

describe('nodewright convert', () => {
  test('makes a NodePool of a Provisioner, with its settings at their new places', async () => {
    const { manifests, notes, text, exitCode } = await convert(PROVISIONER);
    expect(exitCode).toBe(0);
    expect(manifests[0]).toEqual({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'old', annotations: { team: 'red' } },
      spec: {
        template: {
          metadata: { labels: { tier: 'web' } },
          spec: {
            requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
            taints: [{ key: 'dedicated', value: 'web', effect: 'NoSchedule' }],
            nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
            expireAfter: '2592000s',
          },
        },
        limits: { cpu: 100 },
        weight: 10,
        disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s' },
      },
    });
    expect(manifests[1]).toEqual({
      apiVersion: 'karpenter.azure.com/v1beta1',
      kind: 'AKSNodeClass',
      metadata: { name: 'default' },
      spec: { maxPods: 60 },
    });
    expect(notes.join('\n')).toContain('AWSNodeTemplate bottlerocket, which is not of Azure');
    expect(notes.join('\n')).toContain('spec.kubelet.podsPerCore');
    await expectUsable(text);
  });

  test('writes a NodePool of v1beta1 as v1: fields move, values get their new names', async () => {
    const { manifests, text, notes } = await convert(`
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: { name: general }
spec:
  template:
    spec:
      nodeClassRef: { apiVersion: karpenter.azure.com/v1alpha2, kind: AKSNodeClass, name: mine }
      requirements: [{ key: kubernetes.io/os, operator: In, values: [linux] }]
  disruption: { consolidationPolicy: WhenUnderutilized, expireAfter: 720h }
---
apiVersion: karpenter.azure.com/v1alpha2
kind: AKSNodeClass
metadata: { name: mine }
spec: { osDiskSizeGB: 128 }
`);
    expect(manifests).toMatchObject([
      {
        apiVersion: 'karpenter.sh/v1',
        spec: {
          template: {
            spec: {
              nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'mine' },
              expireAfter: '720h',
            },
          },
          disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
        },
      },
      { apiVersion: 'karpenter.azure.com/v1beta1', spec: { osDiskSizeGB: 128 } },
    ]);
    expect(text).not.toContain('apiVersion: karpenter.azure.com/v1alpha2');
    expect(notes).toEqual([]);
    await expectUsable(text);
  });

  const AGENT_POOLS = JSON.stringify([
    { name: 'system', mode: 'System', vmSize: 'Standard_D4s_v5', count: 3, osType: 'Linux' },
    { name: 'win', mode: 'User', vmSize: 'Standard_D4s_v5', count: 1, osType: 'Windows' },
    {
      name: 'spot',
      mode: 'User',
      osType: 'Linux',
      osSku: 'AzureLinux',
      vmSize: 'Standard_D8s_v5',
      enableAutoScaling: true,
      minCount: 1,
      maxCount: 20,
      count: 4,
      maxPods: 50,
      osDiskSizeGb: 128,
      availabilityZones: ['1', '2'],
      scaleSetPriority: 'Spot',
      nodeLabels: { team: 'red', 'kubernetes.azure.com/scalesetpriority': 'spot' },
      nodeTaints: ['kubernetes.azure.com/scalesetpriority=spot:NoSchedule'],
      kubeletConfig: { cpuManagerPolicy: 'static', cpuCfsQuota: null, containerLogMaxSizeMb: 20 },
    },
    { name: 'fixed', mode: 'User', osType: 'Linux', vmSize: 'Standard_D4s_v5', count: 2, enableAutoScaling: false },
  ]);

  test('makes NodePools of the node pools of AKS, and AKSNodeClasses where they have settings of one', async () => {
    const { manifests, notes, text } = await convert(AGENT_POOLS, 'westeurope');
    expect(manifests.map(({ kind, metadata }) => `${String(kind)} ${String((metadata as Fields)['name'])}`)).toEqual([
      'AKSNodeClass spot',
      'NodePool spot',
      'NodePool fixed',
    ]);
    expect(manifests[0]?.['spec']).toEqual({
      imageFamily: 'AzureLinux',
      osDiskSizeGB: 128,
      maxPods: 50,
      kubelet: { cpuManagerPolicy: 'static' },
    });
    expect(manifests[1]?.['spec']).toMatchObject({
      template: {
        metadata: { labels: { team: 'red' } },
        spec: {
          nodeClassRef: { name: 'spot' },
          requirements: [
            { key: 'node.kubernetes.io/instance-type', values: ['Standard_D8s_v5'] },
            { key: 'karpenter.sh/capacity-type', values: ['spot'] },
            { key: 'topology.kubernetes.io/zone', values: ['westeurope-1', 'westeurope-2'] },
          ],
          taints: [{ key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' }],
        },
      },
      limits: { nodes: '20' },
      disruption: { consolidateAfter: '10m' },
    });
    expect(manifests[2]?.['spec']).toMatchObject({ limits: { nodes: '2' }, disruption: { consolidateAfter: 'Never' } });
    const said = notes.join('\n');
    for (const part of [
      'system is left out',
      'Windows',
      'minCount 1',
      'containerLogMaxSizeMb',
      'fixed: it is not autoscaled',
    ])
      expect(said).toContain(part);
    await expectUsable(text);
  });

  test('says which zones it leaves out where no region names them', async () => {
    const { notes, text } = await convert(AGENT_POOLS);
    expect(notes.join('\n')).toContain('its zones 1, 2 are left out: give --region to keep them');
    expect(text).not.toContain('topology.kubernetes.io/zone');
  });

  test('says what it does not convert, and fails where nothing is left', async () => {
    const { notes, exitCode } = await convert('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}');
    expect([notes, exitCode]).toEqual([
      ['Pod of v1 is left out: only NodePools, Provisioners and AKSNodeClasses are converted'],
      1,
    ]);
    await expect(convert('[1]')).rejects.toThrow('is not a Kubernetes object');
  });

  test('has options of its own on the command line', () => {
    expect(parseCommand(['convert', '-f', '-', '--region', 'westeurope', '-o', 'json'])).toEqual({
      kind: 'convert',
      paths: ['-'],
      region: 'westeurope',
      output: 'json',
    });
    expect(() => parseCommand(['convert', '-f', 'a', '-o', 'table'])).toThrow('"table" is not a format');
    expect(() => parseCommand(['convert', '-f', 'a', '--strict'])).toThrow('--strict: is not an option');
    expect(parseCommand(['convert', '--help']).kind).toBe('help');
  });
});
