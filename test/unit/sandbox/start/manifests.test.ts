import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWorkload } from '../../../../sandbox/start/manifests.ts';

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
