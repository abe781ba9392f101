import { afterEach, describe, it } from 'vitest';
import { startApiServer, type ApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { startControllers } from '../../../sandbox/kubernetes/controllers/controllers.ts';
import { startKubelets } from '../../../sandbox/kubernetes/kubelet/kubelets.ts';
import { startScheduler } from '../../../sandbox/kubernetes/scheduler/scheduler.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { eventually, isReady, must, openStage, type Runtime } from './runtime.ts';

const parts: Array<{ close(): Promise<void> | void }> = [];
afterEach(async () => {
  for (const part of parts.splice(0).toReversed()) await part.close();
});

async function start(): Promise<{ readonly api: ApiServer; readonly runtime: Runtime }> {
  const api = await startApiServer({ port: 0, clock: systemClock });
  const options = { kubeconfig: api.kubeconfig, clock: systemClock, rng: rngFrom('outage') };
  const controllers = await startControllers(options);
  const scheduler = await startScheduler(options);
  const pace = { podStartMs: { min: 5, max: 20 }, podStopMs: { min: 5, max: 20 } };
  const kubelets = await startKubelets({ ...options, ...pace });
  parts.push(api, controllers, scheduler, kubelets);
  return { api, runtime: { kubeconfig: api.kubeconfig, kubelets, close: () => Promise.resolve() } };
}

describe('controllers, scheduler and kubelets', () => {
  it.each([
    ['end', false],
    ['are refused as too old', true],
  ])('go on when their watches %s while things change', async (_, expire) => {
    const { api, runtime } = await start();
    const stage = await openStage(runtime, 'outage');
    await stage.join('a');
    const spec = { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: stage.template({ app: 'web' }) };
    await stage.create('deployments', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec });
    const path = '/apis/apps/v1/namespaces/outage/deployments/web';
    for (const replicas of [4, 1, 6, 3]) {
      api.dropWatches('', expire);
      if (expire) api.compact();
      await stage.connection.patch(path, 'merge', { spec: { replicas } });
      api.dropWatches('pods', expire);
      await eventually(async () => {
        const pods = await stage.pods({ app: 'web' });
        must([pods.length, pods.filter(isReady).length], [replicas, replicas], 'pods and ready ones');
      });
    }
    await stage.close();
  });

  it('learn from a list what was deleted while they were not told', async () => {
    const { api, runtime } = await start();
    const stage = await openStage(runtime, 'unseen');
    const node = await stage.join('a');
    await stage.untilReady(node);
    const body = { apiVersion: 'v1', kind: 'Pod', ...stage.template({}, bigContainer) };
    await stage.create('pods', { ...body, metadata: { name: 'first' } });
    await eventually(async () => {
      must((await stage.pods()).map(isReady), [true], 'pods');
    });
    api.dropWatches('', true);
    await stage.connection.remove('/api/v1/namespaces/unseen/pods/first', { gracePeriodSeconds: 0 });
    api.compact();
    await stage.create('pods', { ...body, metadata: { name: 'second' } });
    await eventually(async () => {
      must(
        (await stage.pods()).map((pod) => [pod.metadata.name, isReady(pod)]),
        [['second', true]],
        'pods',
      );
    });
    await stage.close();
  });
});

/** More than half of a stage's node. */
const bigContainer = { containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '3' } } }] };
