import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { customData } from '../../../../shared/adapters/azure/bootstrap/custom-data.ts';
import { nodeConfig } from '../../../../shared/adapters/azure/bootstrap/node-config.ts';
import { order, place, settings } from '../../../kit/azure/launch-order.ts';

const PYTHON = '/usr/bin/python3';
const script = join(import.meta.dirname, 'boot-with-cloud-init.py');
const CONTAINERS = '/opt/azure/containers';

/** Debian's cloud-init is there, and mounts of one's own are allowed, which takes root. */
const canBoot = ((): boolean => {
  try {
    execFileSync(PYTHON, ['-c', 'import cloudinit'], { stdio: 'ignore' });
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/opt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const TOKEN = 'abcdef.0123456789abcdef';
const config = nodeConfig(
  order,
  { ...settings, CLUSTER_CA_DATA: 'Y2E=' },
  { ...place, kubernetesVersion: '1.34.2', token: TOKEN },
);

const folders: Array<string> = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/**
 * Boots custom data in a scratch `/opt` and `/var/log` that `prepare` has filled; what cloud-init printed, and a
 * shell's last words.
 */
function boot(data: string, prepare: string, look: string): { readonly printed: string; readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-init-'));
  folders.push(folder);
  writeFileSync(join(folder, 'data'), Buffer.from(data, 'base64'));
  writeFileSync(
    join(folder, 'boot.sh'),
    [
      'set -eu',
      'mount -t tmpfs none /opt',
      'mount -t tmpfs none /var/log',
      `mkdir -p ${CONTAINERS}`,
      `cd ${folder}`,
      prepare,
      `${PYTHON} ${script} <data`,
      look,
    ].join('\n'),
  );
  const printed = execFileSync('unshare', ['--mount', 'bash', join(folder, 'boot.sh')], { encoding: 'utf8' });
  return { printed, folder };
}

/** Waits for what the hook has started in the background. */
const untilThere = (file: string): string => `for i in $(seq 100); do [ -s ${file} ] && break; sleep 0.1; done`;

describe.skipIf(!canBoot)('custom data that Debian’s cloud-init boots', () => {
  test('leaves the configuration for its owner alone, and starts the node controller as any other program', () => {
    const launcher = `${CONTAINERS}/aks-node-controller-launcher.sh`;
    const { printed, folder } = boot(
      customData(config),
      `printf '#!/bin/sh\\numask >%s/umask\\n' "$PWD" >${launcher}; chmod +x ${launcher}`,
      `${untilThere('umask')}; stat -c '%a %U' ${CONTAINERS}/*-config.json; cp ${CONTAINERS}/*-config.json config`,
    );
    expect(printed).toContain('parts: text/cloud-boothook');
    expect(printed).toContain('600 root');
    expect(JSON.parse(readFileSync(join(folder, 'config'), 'utf8'))).toEqual(JSON.parse(JSON.stringify(config)));
    expect(readFileSync(join(folder, 'umask'), 'utf8').trim()).toBe('0022');
  });

  test('starts the unit of images that have no launcher', () => {
    const { folder } = boot(
      customData(config),
      `printf '#!/bin/sh\\necho "$@" >%s/asked\\n' "$PWD" >systemctl; chmod +x systemctl; export PATH="$PWD:$PATH"`,
      untilThere('asked'),
    );
    expect(readFileSync(join(folder, 'asked'), 'utf8').trim()).toBe('start --no-block aks-node-controller.service');
  });

  test('carries no secret but the token', () => {
    const text = Buffer.from(customData(config), 'base64').toString('utf8');
    const inside = JSON.stringify(config).replace(TOKEN, '');
    for (const one of [text.replaceAll(/\n[A-Za-z0-9+/=]{40,}/g, ''), inside])
      expect(one).not.toMatch(/[a-z0-9]{6}\.[a-z0-9]{16}|PRIVATE|[Pp]assword|SharedAccess/);
  });
});
