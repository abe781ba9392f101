import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig, CoreV1Api } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCluster } from '../../../sandbox/kubernetes/cluster.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { assets } from './runtimes.ts';

/** The cases about a cluster's start, seen by the official client through the kubeconfig that the cluster wrote. */
export function describeStart(mode: 'embedded' | 'real'): void {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const options = (systemNode: boolean): Parameters<typeof startCluster>[0] => {
    const common = { folder, clock: systemClock, rng: rngFrom('start'), systemNode };
    return mode === 'real' ? { ...common, mode, assets } : { ...common, mode };
  };
  const clientOf = (path: string): CoreV1Api => {
    const config = new KubeConfig();
    config.loadFromFile(path);
    return config.makeApiClient(CoreV1Api);
  };

  describe('a new cluster', () => {
    it('has no nodes and no pods, and a kubeconfig that any client understands', async () => {
      const cluster = await startCluster(options(false));
      try {
        const client = clientOf(cluster.kubeconfigPath);
        expect((await client.listNode()).items).toStrictEqual([]);
        expect((await client.listPodForAllNamespaces()).items).toStrictEqual([]);
        expect(readFileSync(cluster.kubeconfigPath, 'utf8')).toBe(cluster.kubeconfig);
      } finally {
        await cluster.close();
        await cluster.close();
      }
    });

    it('that is asked for one has a system node, tainted against what does not tolerate it', async () => {
      const cluster = await startCluster(options(true));
      try {
        const [node] = (await clientOf(cluster.kubeconfigPath).listNode()).items;
        expect(node?.spec?.taints).toContainEqual(
          expect.objectContaining({ key: 'CriticalAddonsOnly', effect: 'NoSchedule' }),
        );
        expect(node?.metadata?.labels).toMatchObject({ 'kubernetes.azure.com/mode': 'system' });
      } finally {
        await cluster.close();
      }
    });
  });
}
