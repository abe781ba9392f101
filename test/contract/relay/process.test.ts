import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { connect } from '../../../sandbox/kubernetes/client/connection.ts';
import { startApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { startBroker } from '../../../sandbox/servicebus/broker.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { queues } from '../../../shared/contract/messages/queues.ts';
import { startAzurite } from './azurite.ts';
import { until } from './rig.ts';

const main = join(import.meta.dirname, '../../../relay/main.ts');

describe('the process of the relay', () => {
  const children: Array<ChildProcess> = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function run(args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: 'pipe',
    });
    children.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    return { child, ended, said: () => said };
  }

  test('--help says what it needs and ends well', async () => {
    const { ended, said } = run(['--help'], {});
    expect(await ended).toBe(0);
    expect(said()).toContain('CLUSTER_NAME');
  });

  test('a wrong setting ends it with code 2 and one line of JSON that names the setting', async () => {
    const { ended, said } = run([], { CLUSTER_NAME: 'one' });
    expect(await ended).toBe(2);
    expect(JSON.parse(said())).toMatchObject({ level: 'error', reason: expect.stringContaining('KUBECONFIG') });
  });

  test('asked to stop, it lets go of its lease and ends well', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-process-'));
    const [api, broker, storage] = await Promise.all([
      startApiServer({ port: 0, clock: systemClock }),
      startBroker({ port: 0, queues, dataFolder: null, clock: systemClock }),
      startAzurite(),
    ]);
    const kube = connect(api.kubeconfig);
    try {
      writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
      const { child, ended, said } = run([], {
        CLUSTER_NAME: 'one',
        ServiceBus: broker.connectionString,
        SnapshotStorage: storage.connectionString,
        KUBECONFIG: join(folder, 'kubeconfig'),
        POD_NAME: 'relay-0',
        METRICS_PORT: '0',
        HEALTH_PORT: '0',
        BIND_ADDRESS: '127.0.0.1',
      });
      const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election';
      const holder = async (): Promise<string> => {
        const lease = await kube.get<{ spec: { holderIdentity?: string } }>(path);
        return lease.spec.holderIdentity ?? '';
      };
      await until('the lease to be held', () => /"message":"leading"/.test(said()));
      expect(await holder()).toMatch(/^relay-0_/);
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
      expect(await holder()).toBe('');
      expect(
        said()
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { message: string }).message)
          .at(-1),
      ).toBe('relay stopped');
    } finally {
      kube.close();
      await Promise.all([api.close(), broker.close(), storage.close()]);
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
