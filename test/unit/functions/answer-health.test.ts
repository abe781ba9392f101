import { expect, test } from 'vitest';
import { answerHealth } from '../../../functions/answer-health.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import type { App } from '../../../shared/composition.ts';
import type { Worker } from '../../../functions/execution.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { smallCluster } from '../../kit/app/small-cluster.ts';
import { never } from '../../kit/app/workers.ts';

const context = { info: () => undefined };

/** What the page says of an app with these ports. */
async function page(ports: Ports) {
  const app = { ports: () => Promise.resolve(ports), hints: ports.hints } as unknown as App;
  const open = (): Worker => ({ app, now: ports.now, after: never });
  const { status, jsonBody } = await answerHealth(context, open);
  return {
    status,
    ...(jsonBody as { readonly problems: ReadonlyArray<string>; readonly snapshotAgeMs: number | null }),
  };
}

test('an app that can do its work says so', async () => {
  expect(await page(smallCluster().ports)).toEqual({ status: 200, isReady: true, problems: [], snapshotAgeMs: 0 });
});

test('what the deployment lacks is said in its own sentences', async () => {
  const { ports, outside } = smallCluster();
  const message = 'app setting SSH_PUBLIC_KEY is missing: set it to the public key that nodes let in';
  outside.deployment = { kind: 'refused', reason: 'SettingsMissing', message };
  expect(await page(ports)).toMatchObject({ status: 503, problems: [message] });
});

test('an API server, an Azure and a storage that cannot be reached are all named, with what they said', async () => {
  const { ports } = smallCluster();
  const down = (): Promise<never> => Promise.reject(new RetryableError('is down'));
  const { status, problems } = await page({
    ...ports,
    kubernetes: { ...ports.kubernetes, serverVersion: down },
    nodeClassFacts: { ...ports.nodeClassFacts, deployment: down },
    snapshots: { ...ports.snapshots, latest: down },
  });
  expect(status).toBe(503);
  expect(problems).toEqual(['Azure: is down', 'the API server: is down', 'the storage of snapshots: is down']);
});

test('a relay that is silent, or was never there, is looked for in the cluster', async () => {
  const { ports } = smallCluster();
  const old = await ports.snapshots.latest();
  const silent = { ...ports, now: () => (old?.takenAtMs ?? 0) + 60_000 };
  const aged = { ...ports.snapshots, latest: () => Promise.resolve(old) };
  expect(await page({ ...silent, snapshots: aged })).toMatchObject({
    status: 503,
    problems: ['the relay has been silent for 60 s: see its log in the cluster'],
    snapshotAgeMs: 60_000,
  });
  const none = { ...ports, snapshots: { ...ports.snapshots, latest: () => Promise.resolve(null) } };
  expect((await page(none)).problems[0]).toContain('published nothing yet');
});

test('an app without settings says which are missing', async () => {
  const { status, jsonBody } = await answerHealth(context, () => {
    throw new Error('app settings are missing: CLUSTER_NAME; add them to the function app');
  });
  expect([status, jsonBody]).toEqual([
    503,
    { isReady: false, problems: [expect.stringContaining('CLUSTER_NAME')], snapshotAgeMs: null },
  ]);
});
