import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { buildFaultyApp, UNLUCKY } from './faulty-app.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type Queues, openQueues } from '../kit/queues.ts';
import { removeAll } from '../kit/remove-all.ts';
import { areEquipped, isRunning } from '../kit/state.ts';
import { type Mode, type World, noticeSecondsOn, startWorld } from '../kit/world.ts';

const EVENTS = '/api/v1/namespaces/default/events?fieldSelector=reason%3D';

interface Event {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly message: string;
}

/**
 * What is wrong with one plan, pool or size keeps no pod of another waiting. The app's planner has a fault put in on
 * purpose.
 */
export function oneFaultCases(mode: Mode): void {
  describe(`one fault (${mode})`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'nodewright-faulty-'));
    let world: World;
    let queues: Queues;

    beforeAll(async () => {
      world = await startWorld(mode, { appFolder: await buildFaultyApp(folder) });
      queues = openQueues(world);
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await queues?.close();
      await world?.close();
      rmSync(folder, { recursive: true, force: true });
    });
    afterEach(() => removeAll(world));

    const eventsOf = async (reason: string): Promise<ReadonlyArray<Event>> => {
      const { items } = await world.api.get<{ readonly items: ReadonlyArray<Event> }>(`${EVENTS}${reason}`);
      return items;
    };

    it('a plan that breaks its own rules about one pod: the others run, that one too by first-fit, and nothing is poison', async () => {
      await world.apply(
        nodePool('general'),
        deployment('lucky', 3, { cpu: '3' }),
        deployment(UNLUCKY, 2, { cpu: '1500m' }),
      );
      await expectConsistent(world, { pods: 5 });
      expect(world.lines.filter((line) => line.includes('plan-refused')).length).toBeGreaterThan(0);
      expect(await queues.drainPoison()).toEqual([]);
      const told = await eventsOf('PlanRefused');
      expect(told.map(({ involvedObject: { kind, name } }) => `${kind} ${name}`)).toContain('NodePool general');
      expect(told[0]?.message).toContain('claim-requirements');
    });

    it('a spot eviction while the plans of its pods are refused: they have left before the machine goes', async () => {
      await world.apply(
        nodePool('spot', { capacityTypes: ['spot', 'on-demand'] }),
        deployment(UNLUCKY, 3, { cpu: '1', graceSeconds: 5 }),
      );
      await expectConsistent(world, { pods: 3 });
      const { vms } = await world.until('machines have AKS’s extension', areEquipped);
      for (const { name } of vms) world.sandbox.azure.evict(name, { noticeSeconds: noticeSecondsOn(mode) });
      await world.until(
        'the machines are gone',
        (state) => !state.vms.some(({ name }) => vms.some((vm) => vm.name === name)),
      );
      await expectConsistent(world, { pods: 3 });
      expect(world.sandbox.azure.counters().evictions).toBe(0);
    });

    it('a pool that nobody can satisfy, and one with a requirement of another provider: pods of the healthy pool run', async () => {
      const nowhere = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['mars-1'] };
      const foreign = { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['m'] };
      await world.apply(
        nodePool('hopeless', { requirements: [nowhere], spec: { weight: 100 } }),
        nodePool('left-over', { requirements: [foreign], spec: { limits: { cpu: '0' }, weight: 50 } }),
        nodePool('general'),
        deployment('wanting', 1, { pod: { nodeSelector: { 'topology.kubernetes.io/zone': 'mars-1' } } }),
        deployment('inflate', 4),
      );
      await world.until(
        'four pods run',
        ({ pods }) => pods.filter((pod) => isRunning(pod) && pod.metadata.name.startsWith('inflate')).length === 4,
      );
      await world.until('the other pod is told why', async () => {
        const told = await eventsOf('FailedScheduling');
        return told.some(
          ({ involvedObject, message }) => involvedObject.name.startsWith('wanting') && message.includes('hopeless'),
        );
      });
      expect(await queues.drainPoison()).toEqual([]);
    });

    it('a size that Azure refuses after it has taken the order: its pods get another, and others do not wait for them', async () => {
      world.sandbox.azure.exhaust({
        size: 'Standard_D2ls_v5',
        zone: null,
        capacityType: null,
        code: 'AllocationFailed',
        remaining: 0,
      });
      await world.apply(
        nodePool('general'),
        deployment('small', 1, { cpu: '1' }),
        deployment('large', 1, { cpu: '7' }),
      );
      await expectConsistent(world, { pods: 2 });
      expect(await queues.drainPoison()).toEqual([]);
      world.sandbox.azure.heal();
    });
  });
}
