import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../../sandbox/kubernetes/client/connection.ts';
import { startControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { eventually, must } from './runtime.ts';
import { assets } from './runtimes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plane-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Ids of processes whose command line names the folder. */
function processesOf(path: string): ReadonlyArray<string> {
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(`${path}/`);
    } catch {
      return false;
    }
  });
}

describe('a launcher without usable binaries', () => {
  it('names the program that is missing and the variable to set', async () => {
    await expect(startControlPlane({ assets: folder, folder })).rejects.toThrow(
      /assets: .*etcd is missing.*KUBEBUILDER_ASSETS/,
    );
  });

  it('shows the end of the log of a program that ends by itself, and leaves nothing running', async () => {
    const broken = join(folder, 'bin');
    mkdirSync(broken);
    const script = '#!/bin/sh\necho "no room for $0"\nexit 3\n';
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']) {
      writeFileSync(join(broken, name), script, { mode: 0o755 });
    }
    await expect(startControlPlane({ assets: broken, folder })).rejects.toThrow(
      /etcd ended with code 3; its log ends:\nno room for/,
    );
    expect(processesOf(folder)).toStrictEqual([]);
  });
});

describe.skipIf(assets === '')('the real control plane', () => {
  it('resumes its data when it starts again in the same folder', async () => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' }, data: { key: 'value' } };
    const path = '/api/v1/namespaces/default/configmaps';
    const first = await startControlPlane({ assets, folder, with: [] });
    await connect(first.kubeconfig).create(path, body);
    await first.close();
    const second = await startControlPlane({ assets, folder, with: [] });
    try {
      expect(second.token).toBe(first.token);
      expect(await connect(second.kubeconfig).get(`${path}/kept`)).toMatchObject({ data: { key: 'value' } });
    } finally {
      await second.close();
    }
    expect(processesOf(folder)).toStrictEqual([]);
  });

  it('ends with its parent, even when that is killed', async () => {
    const program = `
      import { startControlPlane } from '${join(process.cwd(), 'sandbox/kubernetes/control-plane/control-plane.ts')}';
      await startControlPlane({ assets: process.env.KUBEBUILDER_ASSETS, folder: '${folder}' });
      console.log('ready');
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => parent.stdout.once('data', resolve));
    const count = processesOf(folder).filter((id) => id !== String(parent.pid)).length;
    expect(count).toBeGreaterThanOrEqual(4);
    parent.kill('SIGKILL');
    await eventually(() => {
      must(processesOf(folder), [], 'processes');
      return Promise.resolve();
    });
  });
});
