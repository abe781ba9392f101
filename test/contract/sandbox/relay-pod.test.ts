import { afterEach, expect, test } from 'vitest';
import { startApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { connect } from '../../../sandbox/kubernetes/client/connection.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { keepRelayPod } from '../../../sandbox/world/processes/relay-pod.ts';

const closers: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

test('who deletes the Pod of a relay that has ended gets a relay again', async () => {
  const api = await startApiServer({ port: 0, clock: systemClock });
  closers.push(() => api.close());
  const connection = connect(api.kubeconfig);
  closers.push(() => connection.close());
  const started = Promise.withResolvers<void>();
  const calls: Array<string> = [];
  const relay = {
    stop: () => Promise.resolve(void calls.push('stop')),
    start: () => Promise.resolve(calls.push('start')).then(() => started.resolve()),
  };
  const pod = await keepRelayPod({
    kubeconfig: api.kubeconfig,
    clock: systemClock,
    name: 'nodewright-relay-1',
    address: '127.0.0.1',
    metricsPort: 8080,
    relay,
    log: () => undefined,
  });
  closers.push(() => pod.close());
  pod.tell('ready');
  pod.tell('ended');
  await pod.shown();
  await connection.remove('/api/v1/namespaces/kube-system/pods/nodewright-relay-1');
  await started.promise;
  expect(calls).toEqual(['stop', 'start']);
});
