import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWorkload } from '../../../../../sandbox/start/steer/manifests.ts';

const poolWith = (group: string, kind: string): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec: { template: { spec: { nodeClassRef: { group: ${group}, kind: ${kind}, name: default }, requirements: [] } } }
`;

test.each([
  ['karpenter.azure.com', 'AKSNodeClass', true],
  ['karpenter.k8s.aws', 'EC2NodeClass', false],
])('a pool that names the default %s %s has one added: %s', (group, kind, added) => {
  const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  try {
    const file = join(folder, 'pool.yaml');
    writeFileSync(file, poolWith(group, kind));
    expect(readWorkload('.', [file]).addedNodeClass).toBe(added);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  [
    'a NodePool of an old version',
    poolWith('karpenter.azure.com', 'AKSNodeClass').replace('/v1', '/v1beta1'),
    /NodePool general: NodePool of karpenter.sh\/v1beta1 is no longer read \(write a NodePool of karpenter.sh\/v1,/,
  ],
  [
    'a packed file',
    Buffer.from([0x1f, 0x8b, 0x08, 0x00]),
    /is not text, so neither YAML nor JSON \(give a manifest; unpack it first/,
  ],
])('%s is refused before anything starts, in the words of nodewright plan', (_, content, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  try {
    const file = join(folder, 'pool.yaml');
    writeFileSync(file, content);
    expect(() => readWorkload('.', [file])).toThrow(message);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the Deployment to scale is the example, or the only one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
  const deployment = (name: string): string =>
    `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name} }, spec: { replicas: 2 } }\n`;
  const named = (...names: ReadonlyArray<string>): string | null => {
    const file = join(folder, 'apps.yaml');
    writeFileSync(file, names.map(deployment).join('---\n'));
    return readWorkload('.', [file]).deployment;
  };
  try {
    expect([named('web'), named('web', 'inflate'), named('web', 'api')]).toEqual(['web', 'inflate', null]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
