import { expect, test } from 'vitest';
import { deliverObjectsTo } from '../../../functions/deliver/deliver-objects.ts';
import { deliverPodsTo } from '../../../functions/deliver/deliver-pods.ts';
import { deliverSignalsTo } from '../../../functions/deliver/deliver-signals.ts';
import { appFrom } from '../../../shared/composition.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import type { Hints } from '../../../shared/ports/hints.ts';
import { START } from '../../kit/app/small-cluster.ts';
import { never } from '../../kit/app/workers.ts';

const ServiceBus = 'Endpoint=sb://127.0.0.1;SharedAccessKeyName=n;SharedAccessKey=k;UseDevelopmentEmulator=true';
const head = { version: 1, cluster: 'c' };
const vmId = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-a';

/** Delivers to an app of these settings; what was put off, and what was given up. */
function worker(environment: Readonly<Record<string, string>>) {
  const sent: Array<Parameters<Hints['send']>[0][number]> = [];
  const poisoned: Array<unknown> = [];
  const app = {
    ...appFrom(environment),
    hints: { send: (hints: Parameters<Hints['send']>[0]) => Promise.resolve(void sent.push(...hints)) },
    poison: (raw: unknown) => Promise.resolve(void poisoned.push(raw)),
  };
  const context = { functionName: 'f', invocationId: 'i', info: () => undefined, error: () => undefined };
  return { sent, poisoned, context, worker: { app, now: () => START, after: never } };
}

test('settings that are missing cost no message: hints and events are put off until the settings are there', async () => {
  const { sent, poisoned, context, worker: one } = worker({ ServiceBus });
  await deliverPodsTo(one, context, [{ ...head, kind: 'pods', snapshot: null, reason: 'test' }]);
  const objects = [{ kind: 'NodeClaim', name: 'a' }];
  await deliverObjectsTo(one, context, { ...head, kind: 'objects', objects, reason: 'test' });
  await deliverSignalsTo(one, context, [
    {
      ...head,
      kind: 'signal',
      vmId,
      nodeName: null,
      event: 'preempt',
      eventId: 'e',
      notBeforeMs: null,
      source: 'event-grid',
    },
    { id: 'd', eventType: 'Microsoft.Resources.ResourceDeleteSuccess', data: { resourceUri: vmId } },
  ]);
  expect(poisoned).toEqual([]);
  expect(sent.map(({ hint: { kind, attempt } }) => [kind, attempt])).toEqual([
    ['pods', 1],
    ['objects', 1],
    ['signal', 1],
    ['signal', 1],
  ]);
});

test('what is put off says which settings are missing, and so does one that is wrong', async () => {
  const missing = appFrom({ ServiceBus }).ports(() => undefined);
  await expect(missing).rejects.toThrow(RetryableError);
  await expect(missing).rejects.toThrow(/CLUSTER_NAME, .*SnapshotStorage.*add them to the function app/);
});

test('where not even Service Bus is among the settings nothing can be put off, and no trigger listens', () => {
  expect(() => appFrom({})).toThrow('ServiceBus (or ServiceBus__fullyQualifiedNamespace)');
  expect(() => appFrom({ ServiceBus: '' })).toThrow('ServiceBus');
});
