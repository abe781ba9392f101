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

test('pods that wait get nodes of their own beside a removal that is short of room: its other pods keep theirs', async () => {
  const cluster = await begunReplacement();
  const { ports, server, replacement, addReady, addRunning, addPod } = cluster;
  // It is in use, and kept for whom it was made for.
  const { annotations = {} } = server.get('nodeclaims', replacement)?.metadata ?? {};
  server.remove('nodeclaims', replacement);
  addReady(replacement, 2, { annotations });
  const taints = [{ key: 'nodewright.dev/reserved', value: replacement, effect: 'NoSchedule' }];
  server.patch('nodes', `aks-${replacement}`, { spec: { taints } }, 'object');
  // It came before the node was closed, and no node has room for it.
  addRunning('short', 'large', { spec: { containers: [{ resources: { requests: { cpu: '5', memory: '1Gi' } } }] } });
  // `web` is to come to the replacement, on which one of the two has room.
  addPod('late', '1500m');
  cluster.clock.advance(2_000);
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  const { decision } = await ports.ledger.read();
  const made = await ports.decisions.get(decision ?? '');
  expect(made?.plan.claims.flatMap(({ pods }) => pods.map(({ name }) => name))).toEqual(['default/late']);
});
