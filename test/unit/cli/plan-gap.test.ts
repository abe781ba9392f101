import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { parseCommand } from '../../../cli/command.ts';
import { planFromFiles } from '../../../cli/plan/plan-from-files.ts';

/**
 * Six pods that prefer a node each: what they need together would be far cheaper on one, and a bound knows of no
 * preferences.
 */
const apart = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: p }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
      requirements:
        - { key: node.kubernetes.io/instance-type, operator: In, values: [Standard_D4s_v5, Standard_D32s_v5] }
        - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
  disruption: { consolidateAfter: 0s }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 6
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm: { topologyKey: kubernetes.io/hostname, labelSelector: { matchLabels: { app: web } } }
      containers: [{ name: a, image: x, resources: { requests: { cpu: 500m, memory: 1Gi } } }]
`;

test('a plan far above its bound is not told as waste, as the bound ignores rules that the plan obeys', async () => {
  const command = parseCommand(['plan', '-f', '-']);
  if (command.kind !== 'plan') throw new Error('not a plan');
  const { text } = await planFromFiles(command, Readable.from([apart]));
  const words = text.replaceAll(/\s+/g, ' ');
  expect(words).not.toMatch(/at most \d\d+\.\d+ % above/);
  expect(words).toContain(
    'It leaves out weights and limits of NodePools, preferences, and rules between pods of different workloads',
  );
  expect(words).toContain('so it does not tell how far this plan is from the cheapest');
});
