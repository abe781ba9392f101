import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../../sandbox/kubernetes/client/objects.ts';
import { watchObjects } from '../../../sandbox/kubernetes/client/watch-objects.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { forbidClosing } from '../kit/node-policy.ts';
import { onceOn } from '../kit/once-on.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type State, areEquipped } from '../kit/state.ts';
import { holdLease, lockCatalog, throttleAzure } from './troubles.ts';
import { type Mode, type World, noticeSecondsOn, startWorld } from '../kit/world.ts';

/** Many notices at once. The world is theirs alone, as storms are remembered. */
export function stormCases(mode: Mode): void {
  describe(`spot storms (${mode})`, () => {
    const rarely = onceOn(mode);
    // Machines that are many take longer than one.
    const noticeSeconds = 2 * noticeSecondsOn(mode);
    let world: World;
    /** Machines that had gone under their pods before this case. */
    let before = 0;
    const evictions = (): number => world.sandbox.azure.counters().evictions - before;

    beforeAll(async () => {
      world = await startWorld(mode, { hosts: 'as-on-azure' });
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await world?.close();
    });
    afterEach(async () => {
      await removeAll(world);
    });

    /**
     * So many spot nodes with three pods each, whose grace period is 5 s. After a storm a pool that may buys on demand:
     * this one may not.
     */
    const stormy = async (nodes: number): Promise<State> => {
      const sizes = [
        { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
        { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4'] },
      ];
      before = world.sandbox.azure.counters().evictions;
      await world.apply(
        nodePool('spot', { capacityTypes: ['spot'], requirements: sizes }),
        deployment('storm', 3 * nodes, { cpu: '1100m', graceSeconds: 5 }),
      );
      await expectConsistent(world, { pods: 3 * nodes });
      return world.until('machines have AKS’s extension', areEquipped);
    };

    rarely(
      'twenty spot evictions at once: every pod ends by itself and gets one new place, and nothing is bought twice',
      async () => {
        const { vms } = await stormy(20);
        const seen = new Set<string>();
        const watched = watchObjects<KubernetesObject>({
          connection: world.api,
          path: '/api/v1/namespaces/default/pods',
          query: '',
          onChange: ({ metadata }) => void seen.add(metadata.uid),
          onDelete: () => undefined,
        });
        for (const { name } of vms) world.sandbox.azure.evict(name, { noticeSeconds });
        await world.until(
          'the machines are gone',
          (state) => !state.vms.some(({ name }) => vms.some((vm) => vm.name === name)),
        );
        const after = await expectConsistent(world, { pods: 60 });
        watched.close();
        expect(evictions(), 'machines that went under their pods').toBe(0);
        expect([after.vms.length, seen.size], 'machines, and pods that there ever were').toEqual([20, 120]);
      },
    );

    rarely(
      'whatever plans wait for, pods are told: Azure throttles, what is remembered is locked, and whoever holds the Lease is dead',
      async () => {
        const { vms } = await stormy(5);
        expect(await lockCatalog(world)).not.toEqual([]);
        throttleAzure(world);
        for (const { name } of vms) world.sandbox.azure.evict(name, { noticeSeconds });
        await holdLease(world);
        await world.until('every pod that was there has ended', ({ pods }) =>
          pods.every(({ spec }) => !vms.some(({ name }) => name === spec.nodeName)),
        );
        expect(evictions(), 'machines that went under their pods').toBe(0);
        world.sandbox.azure.heal();
        const after = await expectConsistent(world, { pods: 15, mayBeEmpty: true });
        expect(after.vms.length).toBe(5);
      },
    );

    // The double knows no admission policies.
    it.runIf(mode === 'real')(
      'a node that nobody may close: its pods are told all the same, and those of the others',
      async () => {
        const { vms } = await stormy(3);
        const [closed] = vms;
        if (closed === undefined) throw new Error('the pool has no VM');
        const opened = await forbidClosing(world, closed.name);
        try {
          for (const { name } of vms) world.sandbox.azure.evict(name, { noticeSeconds });
          await world.until('the others are gone', (state) =>
            vms.slice(1).every((vm) => !state.vms.some(({ name }) => name === vm.name)),
          );
          expect(evictions()).toBe(0);
          const says = (...words: ReadonlyArray<string>): boolean =>
            world.lines.some((line) => [closed.name.slice(4), ...words].every((word) => line.includes(word)));
          await world.until('the log says that it was not closed', () =>
            says('"interruption-step-refused"', '"step":"taint"'),
          );
          await world.until('the log says that its pods were told', () =>
            says('"event":"interrupted"', '"markedAfterMs":null,"toldAfterMs":'),
          );
        } finally {
          await opened();
        }
        await expectConsistent(world, { pods: 9, mayBeEmpty: true });
      },
    );
  });
}
