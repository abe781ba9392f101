import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { parse } from 'yaml';
import { startControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { relaySuite } from './relay-suite.ts';

const assets = process.env['KUBEBUILDER_ASSETS'];
const crdFolder = join(import.meta.dirname, '../../../infra/chart/definitions');
const crds = readdirSync(crdFolder).map((name) => parse(readFileSync(join(crdFolder, name), 'utf8')) as unknown);

if (assets === undefined) {
  describe('the relay on a real control plane', () => {
    test.skip('KUBEBUILDER_ASSETS is not set', () => {});
  });
} else {
  relaySuite(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'control-plane-'));
    const plane = await startControlPlane({ assets, folder, with: [] });
    return {
      kubeconfig: plane.kubeconfig,
      async close() {
        await plane.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }, crds);
}
