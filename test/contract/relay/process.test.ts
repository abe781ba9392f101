import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { leaseTiming } from '../../../relay/kube/lease.ts';
import { connect } from '../../../sandbox/kubernetes/client/connection.ts';
import { startApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { startBroker } from '../../../sandbox/servicebus/broker.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { queues } from '../../../shared/contract/messages/queues.ts';
import { startAzurite } from './azurite.ts';
import { until } from './rig.ts';

const main = join(import.meta.dirname, '../../../relay/main.ts');

/** Longer than a leader may go without a renewal, and shorter than its lease. */
const STILL_MS = leaseTiming.renewDeadlineMs + 2_000;

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

  /** Starts the process beside what it needs, and waits until it leads. */
  async function lead() {
    const folder = mkdtempSync(join(tmpdir(), 'relay-process-'));
    const [api, broker, storage] = await Promise.all([
      startApiServer({ port: 0, clock: systemClock }),
      startBroker({ port: 0, queues, dataFolder: null, clock: systemClock }),
      startAzurite(),
    ]);
    const kube = connect(api.kubeconfig);
    onTestFinished(async () => {
      kube.close();
      await Promise.all([api.close(), broker.close(), storage.close()]);
      rmSync(folder, { recursive: true, force: true });
    });
    writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
    const relay = run([], {
      CLUSTER_NAME: 'one',
      ServiceBus: broker.connectionString,
      SnapshotStorage: storage.connectionString,
      KUBECONFIG: join(folder, 'kubeconfig'),
      POD_NAME: 'relay-0',
      METRICS_PORT: '0',
      HEALTH_PORT: '0',
      BIND_ADDRESS: '127.0.0.1',
    });
    const blobs = BlobServiceClient.fromConnectionString(storage.connectionString).getContainerClient('snapshots');
    await until('the lease to be held', () => /"message":"leading"/.test(relay.said()));
    return { ...relay, kube, blobs };
  }

  test('asked to stop, it lets go of its lease and ends well', async () => {
    const { child, ended, said, kube } = await lead();
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election';
    const holder = async (): Promise<string> => {
      const lease = await kube.get<{ spec: { holderIdentity?: string } }>(path);
      return lease.spec.holderIdentity ?? '';
    };
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
  });

  test('that stood still for longer than it may without a renewal publishes again, in a new term', async () => {
    const { child, kube, blobs, said } = await lead();
    const publishedTerm = async (): Promise<string | undefined> => {
      // There is no container, and no blob, before the first is published.
      const found = await blobs
        .getBlobClient('one/latest')
        .getProperties()
        .catch(() => null);
      return found?.metadata?.['term'];
    };
    await until('a first snapshot', async () => (await publishedTerm()) === '1');
    child.kill('SIGSTOP');
    await sleep(STILL_MS);
    child.kill('SIGCONT');
    await kube.create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'any' } });
    await until('a snapshot of the next term', async () => (await publishedTerm()) === '2');
    expect(said()).toContain('"no longer leading"');
  });
});
