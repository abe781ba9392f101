import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scheduledEventEmitted, virtualMachinePreempted } from '../../../sandbox/azure/events/event-grid-events.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type Queues, openQueues } from '../kit/queues.ts';
import { onceOn } from '../kit/once-on.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type State, areEquipped, isRunning, isTrue } from '../kit/state.ts';
import { type Mode, type World, noticeSecondsOn, startWorld } from '../kit/world.ts';

const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';

/** What happens when Azure takes machines back, by every path that the news can take. */
export function interruptionCases(mode: Mode): void {
  describe(`interruption (${mode})`, () => {
    const rarely = onceOn(mode);
    let world: World;
    let queues: Queues;

    beforeAll(async () => {
      world = await startWorld(mode, { hosts: 'as-on-azure' });
      queues = openQueues(world);
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await queues?.close();
      await world?.close();
    });
    afterEach(async () => {
      await removeAll(world);
    });

    const sixPods = async (): Promise<{ readonly state: State; readonly vm: State['vms'][number] }> => {
      await world.apply(nodePool('spot', { capacityTypes: ['spot', 'on-demand'] }), deployment('inflate', 6));
      await expectConsistent(world, { pods: 6 });
      const state = await world.until('machines have AKS’s extension', areEquipped);
      const vm = state.vms.find(({ capacityType }) => capacityType === 'spot');
      if (vm === undefined) throw new Error('the pool has no spot VM');
      return { state, vm };
    };

    const taken = (name: string, { nodes }: State): boolean =>
      nodes.some(
        ({ metadata, spec }) =>
          metadata.name === name && spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true,
      );

    it('a spot eviction: its pods are told before any replacement is ready, and have left before the machine goes', async () => {
      const { state, vm } = await sixPods();
      const old = state.pods.filter(({ spec }) => spec.nodeName === vm.name).map(({ metadata }) => metadata.uid);
      world.sandbox.azure.evict(vm.name, { noticeSeconds: noticeSecondsOn(mode) });
      await world.until('the node is tainted', (seen) => taken(vm.name, seen));
      await world.until('all its pods are told', ({ pods }) => {
        const there = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        return old.every((uid) => !there.some(({ metadata }) => metadata.uid === uid));
      });
      await world.until('the machine is gone', ({ vms }) => !vms.some(({ name }) => name === vm.name));
      const line = world.lines.find((one) => one.includes('"event":"interrupted"') && one.includes(vm.name.slice(4)));
      expect(line).toMatch(/"markedAfterMs":\d+,"toldAfterMs":\d+,/);
      await expectConsistent(world, { pods: 6 });
      expect(world.sandbox.azure.counters().evictions).toBe(0);
    });

    it('maintenance that is announced minutes ahead: the replacement is ready before a pod leaves', async () => {
      const { state, vm } = await sixPods();
      const old = state.pods.filter(({ spec }) => spec.nodeName === vm.name).map(({ metadata }) => metadata.uid);
      const known = new Set(state.claims.map(({ metadata }) => metadata.name));
      world.sandbox.azure.schedule(vm.name, 'Redeploy', { noticeSeconds: 600 });
      await world.until('the node is tainted', (seen) => taken(vm.name, seen));
      await world.until('a pod leaves', ({ pods }) => {
        const there = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        return old.some((uid) => !there.some(({ metadata }) => metadata.uid === uid));
      });
      const { claims } = await world.state();
      const ready = claims.filter((claim) => !known.has(claim.metadata.name) && isTrue(claim, 'Initialized'));
      expect(ready.length, 'replacements that were ready when the first pod left').toBeGreaterThan(0);
      await world.until('the machine is gone', ({ vms }) => !vms.some(({ name }) => name === vm.name));
      await expectConsistent(world, { pods: 6 });
    });

    rarely('the same notice ten times, by queue and by Event Grid, replaces a node once', async () => {
      const { state, vm } = await sixPods();
      const notBefore = Date.now() + 30_000;
      const signal = {
        kind: 'signal',
        version: 1,
        cluster: 'sandbox',
        vmId: vm.id,
        nodeName: vm.name,
        event: 'preempt',
        notBeforeMs: notBefore,
        eventId: 'A1B2C3D4-0000-0000-0000-000000000000',
        source: 'node-condition',
      };
      await Promise.all(Array.from({ length: 5 }, () => queues.send('signals', signal)));
      for (let copy = 0; copy < 5; copy++) world.sandbox.azure.publish(scheduled(vm, notBefore));
      await world.until('the machine is gone', ({ vms }) => !vms.some(({ name }) => name === vm.name));
      const after = await expectConsistent(world, { pods: 6 });
      // One decision, of however many nodes; what it was is told where there are more.
      const made = after.claims.filter(({ metadata }) =>
        state.claims.every((one) => one.metadata.name !== metadata.name),
      );
      const decisions = new Set(made.map(({ metadata }) => metadata.annotations?.['nodewright.dev/decision']));
      expect(decisions.size, JSON.stringify(made.map(({ metadata }) => metadata))).toBeLessThanOrEqual(1);
    });

    rarely('a notice that comes by Event Grid alone is enough', async () => {
      const { vm } = await sixPods();
      world.sandbox.azure.publish(scheduled(vm, Date.now() + 30_000));
      await world.until('the machine is gone', ({ vms }) => !vms.some(({ name }) => name === vm.name));
      await expectConsistent(world, { pods: 6 });
    });

    it('a notice that comes late, or for a machine nobody knows, changes nothing', async () => {
      const { state, vm } = await sixPods();
      const ignored = (): number => world.lines.filter((line) => line.includes('"outcome":"ignored"')).length;
      const before = ignored();
      const unknown = { ...vm, name: 'aks-nobody-00000000', id: vm.id.replace(vm.name, 'aks-nobody-00000000') };
      const foreign = { ...vm, name: 'someone-elses-vm', id: vm.id.replace(vm.name, 'someone-elses-vm') };
      for (const target of [unknown, foreign]) {
        world.sandbox.azure.publish(scheduled(target, Date.now() + 30_000));
        world.sandbox.azure.publish(virtualMachinePreempted(targetOf(target)));
      }
      const gone = { vmId: unknown.id, nodeName: unknown.name, event: 'gone', notBeforeMs: null, eventId: null };
      const hint = { kind: 'signal', version: 1, cluster: 'sandbox', source: 'node-condition' };
      await queues.send('signals', { ...hint, ...gone });
      await world.until('all five are ignored', () => ignored() >= before + 5);
      const after = await expectConsistent(world, { pods: 6 });
      expect(names(after)).toEqual(names(state));
    });

    rarely('a VM that disappears behind our back is replaced', async () => {
      const { vm } = await sixPods();
      await deleteVm(world, vm.id);
      await world.until(
        'its claim is gone',
        ({ claims }) => !claims.some(({ metadata }) => vm.name.endsWith(metadata.name)),
      );
      await expectConsistent(world, { pods: 6 });
    });

    rarely('every machine crashes at once, and ARM goes on showing them: the pods get others', async () => {
      const { state } = await sixPods();
      for (const { name } of state.vms) world.sandbox.azure.crash(name);
      await world.until('pods run on others', ({ pods, vms }) => {
        const fresh = vms.filter(({ name }) => !state.vms.some((old) => old.name === name));
        const running = pods.filter(isRunning);
        return running.length === 6 && running.every(({ spec }) => fresh.some(({ name }) => name === spec.nodeName));
      });
      await expectConsistent(world, { pods: 6 });
    });
  });
}

function targetOf(vm: { readonly name: string; readonly id: string }): Parameters<typeof virtualMachinePreempted>[0] {
  return { subscriptionId: SUBSCRIPTION, vmId: vm.id, vmName: vm.name, eventId: `event-${vm.name}`, at: Date.now() };
}

function scheduled(
  vm: { readonly name: string; readonly id: string },
  notBefore: number,
): ReturnType<typeof scheduledEventEmitted> {
  const event = { type: 'Preempt', status: 'Scheduled', notBefore, durationSeconds: -1, source: 'Platform' } as const;
  return scheduledEventEmitted(targetOf(vm), event);
}

function names({ claims }: State): ReadonlyArray<string> {
  return claims.map(({ metadata }) => metadata.name).toSorted();
}

/** As somebody with the portal does. */
async function deleteVm(world: World, id: string): Promise<void> {
  const url = `${world.sandbox.azure.endpoint}${id}?api-version=2024-07-01`;
  const answer = await fetch(url, { method: 'DELETE', headers: { authorization: 'Bearer test' } });
  expect([200, 202, 204]).toContain(answer.status);
}
