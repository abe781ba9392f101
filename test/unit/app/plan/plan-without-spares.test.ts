import { expect, test } from 'vitest';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { SignalHint } from '../../../../shared/contract/messages/messages.ts';
import { begunReplacement } from '../../../kit/app/consolidated.ts';
import { machine, preemptionOf } from '../../../kit/app/small-cluster.ts';

/**
 * `large` is marked to go and its replacement has failed; `other`, with one pod that fills it, is a machine that can be
 * interrupted.
 */
async function withFailedReplacement() {
  const cluster = await begunReplacement();
  const { server, azure, addReady, addRunning } = cluster;
  server.remove('nodeclaims', cluster.replacement);
  addReady('other');
  addRunning('alone', 'other', {
    spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] },
  });
  const signalFor = (name: string): SignalHint => {
    const vmId = `/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-${name}`;
    server.patch('nodeclaims', name, { status: { providerID: `azure://${vmId}` } }, 'status');
    server.patch('nodes', `aks-${name}`, { spec: { providerID: `azure://${vmId}` } }, 'object');
    azure.machines.set(name, machine(name, vmId));
    // With time enough for another machine, so that its pods stay until that is there.
    return { ...preemptionOf(vmId), event: 'terminate', notBeforeMs: cluster.clock.now() + 600_000 };
  };
  const podsOf = async (): Promise<ReadonlyArray<string>> => {
    const { decision } = await cluster.ports.ledger.read();
    const made = await cluster.ports.decisions.get(decision ?? '');
    return made?.plan.claims.flatMap(({ pods }) => pods.map(({ name }) => name)) ?? [];
  };
  return { ...cluster, signalFor, podsOf };
}

test('an interruption launches nothing for pods of nodes that disruption has marked: they stay where they are', async () => {
  const { ports, signalFor, podsOf } = await withFailedReplacement();
  await interrupt(ports, signalFor('other'));
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(await podsOf()).toEqual(['default/alone']);
});

test('one of a marked node itself does, as that one goes whatever was decided', async () => {
  const { ports, signalFor, podsOf } = await withFailedReplacement();
  await interrupt(ports, signalFor('large'));
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(await podsOf()).toEqual(['default/web']);
});
