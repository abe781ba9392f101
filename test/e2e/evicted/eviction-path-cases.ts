import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import {
  type EventTarget,
  type GridEvent,
  availabilityStatusChanged,
  resourceAnnotated,
  resourceDeleted,
  scheduledEventEmitted,
  virtualMachinePreempted,
} from '../../../sandbox/azure/events/event-grid-events.ts';
import type { EventSubscription } from '../../../sandbox/azure/state/options.ts';
import { INTERRUPTIONS } from '../../../sandbox/world/sandbox.ts';
import { signalsQueue } from '../../../shared/contract/messages/queues.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { onceOn } from '../kit/once-on.ts';
import { type Queues, openQueues } from '../kit/queues.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type State, areEquipped, isRunning } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

type Vm = State['vms'][number];

/** From the notice to the eviction. */
const NOTICE_SECONDS = 30;

/** Sizes of four cores hold three of the pods: what each machine is replaced by is one machine. */
const FOUR_CORES = { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4'] };
const pool = nodePool('spot', { capacityTypes: ['spot'], requirements: [FOUR_CORES] });

/** Nothing here may be the sweep's doing: it runs on New Year's Day. */
const NEVER = '0 0 0 1 1 *';

const SUBSCRIPTIONS = ['webhook', 'queue, EventGrid', 'queue, CloudEvents', INTERRUPTIONS];

/**
 * An eviction by each path that the news of it can take, alone, twice, late and out of order: always one replacement.
 */
export function evictionPathCases(mode: Mode): void {
  describe(`an eviction is answered by one replacement (${mode})`, () => {
    const rarely = onceOn(mode);
    let world: World;
    let queues: Queues;

    beforeAll(async () => {
      const azure = { healthEventDelayMs: 300, deletionEventDelayMs: 300, scheduledEventDelayMs: 100 };
      // Nor may it be that of AKS, which removes the Node of a machine that is gone, and is some minutes late with it.
      const pace = { joinMs: 300, readyMs: 200, nodeRemovalMs: null };
      world = await startWorld(mode, { hosts: 'as-on-azure', sweepSchedule: NEVER, azure, pace });
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

    /** Event Grid delivers by these paths and no others. */
    const subscribe = async (...wanted: ReadonlyArray<'webhook' | EventSubscription['schema']>): Promise<void> => {
      const { azure, functionsUrl, serviceBusConnection: connectionString } = world.sandbox;
      for (const name of SUBSCRIPTIONS) await azure.unsubscribe(name);
      const url = `${functionsUrl}/runtime/webhooks/EventGrid?functionName=interruptEventGrid`;
      for (const path of wanted) {
        if (path === 'webhook') await azure.subscribe({ name: path, schema: 'EventGrid', destination: url });
        else {
          const destination = { connectionString, queue: signalsQueue.name };
          await azure.subscribe({ name: `queue, ${path}`, schema: path, destination });
        }
      }
    };

    const machines = (): ReadonlyArray<string> => Object.keys(world.sandbox.azure.counters().creations);

    /** Lets the news of one machine's end out, and counts what comes in its place. */
    const expectOneReplacement = async (
      happen: (vm: Vm) => void | Promise<void>,
      settled = async (): Promise<unknown> => expectConsistent(world, { pods: 6 }),
    ): Promise<Vm> => {
      await world.apply(pool, deployment('inflate', 6));
      await expectConsistent(world, { pods: 6 });
      const { vms } = await world.until('machines have AKS’s extension', areEquipped);
      const [vm] = vms;
      if (vm === undefined) throw new Error('the pool has no VM');
      const known = machines();
      await happen(vm);
      await world.until('the machine is gone', (state) => !state.vms.some(({ name }) => name === vm.name));
      await settled();
      expect(machines().filter((name) => !known.includes(name))).toHaveLength(1);
      return vm;
    };

    /** How many pieces of news came to this end, by the app's log. */
    const told = (outcome: string): number =>
      world.lines.filter((line) => line.includes('"event":"signal"') && line.includes(`"outcome":"${outcome}"`)).length;

    const publish = (...events: ReadonlyArray<GridEvent>): void => {
      for (const event of events) world.sandbox.azure.publish(event);
    };

    rarely('told by the node’s condition alone', async () => {
      await subscribe();
      await expectOneReplacement((vm) => world.sandbox.azure.evict(vm.name, { noticeSeconds: NOTICE_SECONDS }));
    });

    for (const path of ['webhook', 'EventGrid', 'CloudEvents'] as const) {
      rarely(`told by Event Grid alone: ${path === 'webhook' ? 'a push' : `the queue, schema ${path}`}`, async () => {
        await subscribe(path);
        await expectOneReplacement((vm) => publish(scheduled(vm, 'Scheduled')));
      });
    }

    rarely('told by every path at once, each of them twice', async () => {
      await subscribe('webhook', 'EventGrid', 'CloudEvents');
      await expectOneReplacement(async (vm) => {
        world.sandbox.azure.evict(vm.name, { noticeSeconds: NOTICE_SECONDS });
        for (const time of [1, 2]) publish(scheduled(vm, 'Scheduled', `time-${time}`), preempted(vm, `time-${time}`));
        await queues.send(signalsQueue.name, [scheduled(vm, 'Scheduled'), preempted(vm)].map(asList));
      });
    });

    // Pods of a kubelet that is gone stand there until the control plane, a minute later, finds its node lost.
    const sixRunElsewhere = (): Promise<unknown> =>
      world.until('six run on machines that are there', ({ pods, vms }) => {
        const there = new Set(vms.map(({ name }) => name));
        return pods.filter((pod) => isRunning(pod) && there.has(pod.spec.nodeName ?? '')).length === 6;
      });

    rarely('told no sooner than it happens', async () => {
      await subscribe('EventGrid');
      const evict = (vm: Vm): void => world.sandbox.azure.evict(vm.name, { noticeSeconds: 0 });
      await expectOneReplacement(evict, sixRunElsewhere);
    });

    rarely('told in no order, and once more when all is over', async () => {
      await subscribe('webhook', 'CloudEvents');
      const over = (vm: Vm, id: string): ReadonlyArray<GridEvent> => [
        scheduled(vm, 'Completed', id),
        unavailable(vm, id),
        preempted(vm, id),
        scheduled(vm, 'Started', id),
        scheduled(vm, 'Scheduled', id),
      ];
      const vm = await expectOneReplacement((gone) => publish(...over(gone, 'first')));
      const [known, before] = [machines(), told('ignored')];
      publish(...over(vm, 'late'), resourceDeleted(targetOf(vm, 'deleted'), 'somebody'));
      // Twelve deliveries, and what our own removal of the machine was told of.
      await world.until('all are ignored', () => told('ignored') >= before + 12);
      await expectConsistent(world, { pods: 6 });
      expect(machines()).toEqual(known);
    });

    rarely('and so is a machine that somebody deletes, without a sweep', async () => {
      await subscribe('CloudEvents');
      const vm = await expectOneReplacement(async ({ id }) => {
        const url = `${world.sandbox.azure.endpoint}${id}?api-version=2024-07-01`;
        const answer = await fetch(url, { method: 'DELETE', headers: { authorization: 'Bearer test' } });
        expect([200, 202, 204]).toContain(answer.status);
      }, sixRunElsewhere);
      const claim = `"claim":"${vm.name.replace(/^aks-/, '')}"`;
      // Its node is ready still when the news comes: nothing is believed that the node does not confirm.
      expect(world.lines.filter((line) => line.includes('"interrupted"') && line.includes(claim))).toEqual([]);
      expect(world.lines.some((line) => line.includes('"notice":"gone","outcome":"looked"'))).toBe(true);
    });

    rarely('and events that take nothing away, or are none of ours, take nothing away and are not kept', async () => {
      await subscribe('EventGrid', 'CloudEvents');
      await world.apply(pool, deployment('inflate', 6));
      const { vms } = await expectConsistent(world, { pods: 6 });
      const [vm] = vms;
      if (vm === undefined) throw new Error('the pool has no VM');
      const known = machines();
      const before = told('ignored') + told('looked') + told('noted');
      publish(
        annotated(vm, 'VirtualMachineAllocated'),
        annotated(vm, 'VirtualMachineDeallocationInitiated'),
        annotated(vm, 'LiveMigrationSucceeded'),
        annotated(vm, 'VirtualMachineLevitates'),
        unavailable(vm),
        scheduled(vm, 'Canceled'),
        resourceDeleted(targetOf(vm), 'somebody'),
        { ...resourceDeleted(targetOf(vm, 'written'), 'somebody'), type: 'Microsoft.Resources.ResourceWriteSuccess' },
        preempted({ ...vm, id: vm.id.replace('/resourceGroups/', '/resourceGroups/another-') }),
        preempted({ ...vm, id: vm.id.replace(/subscriptions\/[^/]+/, 'subscriptions/another') }, 'another'),
      );
      await world.until('all have been read', () => told('ignored') + told('looked') + told('noted') >= before + 20);
      await expectConsistent(world, { pods: 6 });
      expect(machines()).toEqual(known);
    });
  });
}

function targetOf(vm: Pick<Vm, 'name' | 'id'>, id = 'event'): EventTarget {
  const subscriptionId = vm.id.split('/')[2] ?? '';
  return { subscriptionId, vmId: vm.id, vmName: vm.name, eventId: `${id}-${vm.name}`, at: Date.now() };
}

function scheduled(vm: Vm, status: 'Scheduled' | 'Started' | 'Completed' | 'Canceled', id = 'event'): GridEvent {
  const notBefore = status === 'Scheduled' ? Date.now() + NOTICE_SECONDS * 1_000 : null;
  const event = { type: 'Preempt', status, notBefore, durationSeconds: -1, source: 'Platform' } as const;
  return scheduledEventEmitted(targetOf(vm, id), event);
}

function preempted(vm: Pick<Vm, 'name' | 'id'>, id = 'event'): GridEvent {
  return virtualMachinePreempted(targetOf(vm, `preempted-${id}`));
}

function unavailable(vm: Vm, id = 'event'): GridEvent {
  return availabilityStatusChanged(targetOf(vm, `unavailable-${id}`), { from: 'Available', to: 'Unavailable' });
}

function annotated(vm: Vm, name: string): GridEvent {
  const unplanned = { context: 'Platform Initiated', category: 'Unplanned', summary: 'As the test says.' } as const;
  return resourceAnnotated(targetOf(vm, name), { name, ...unplanned });
}

/** In the Event Grid schema, as a list of several is delivered. */
function asList(event: GridEvent): object {
  return { id: event.id, subject: event.subject, eventType: event.type, data: event.data };
}
