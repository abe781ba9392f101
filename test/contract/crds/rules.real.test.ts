import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { startControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { describeApiRules, type ApiServerUnderTest } from './rules-suite.ts';

const assets = process.env['KUBEBUILDER_ASSETS'];

async function openApiServer(binaries: string): Promise<ApiServerUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'api-rules-'));
  const controlPlane = await startControlPlane({ assets: binaries, folder, with: [] });
  return {
    kubeconfig: controlPlane.kubeconfig,
    close: async () => {
      await controlPlane.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

if (assets === undefined) {
  describe.skip('a real API server and the parsers agree (KUBEBUILDER_ASSETS is not set)', () => {
    it.todo('needs etcd and kube-apiserver');
  });
} else {
  describeApiRules('a real API server', () => openApiServer(assets));
}
