import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readAzureNames } from '../kit/azure-names.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool, oneToANode, podDisruptionBudget } from '../kit/manifests.ts';
import { followPod } from './follow-pod.ts';
import { onceOn } from '../kit/once-on.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type Definition, conditionOf, isRunning, isTrue } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const POOLS = '/apis/karpenter.sh/v1/nodepools';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const CLASSES = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';

/** The life of nodes, from the first pod that waits to the last that has gone, on one running product. */
export function lifecycleCases(mode: Mode): void {
  describe(`the life of nodes (${mode})`, () => {
    const rarely = onceOn(mode);
    let world: World;

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

    it('pods that wait get nodes, and when the pool goes so does everything of it', async () => {
      await world.apply(nodePool('general'), deployment('inflate', 10));
      const { claims, pods, vms } = await expectConsistent(world, { pods: 10 });
      expect(claims.length).toBeGreaterThan(0);
      const { decision, machine } = followPod(world.lines, `default/${pods[0]?.metadata.name}`);
      expect(decision).toMatch(/^\d{9}-/);
      expect(vms.find(({ name }) => name === machine)?.tags).toMatchObject({ 'nodewright.dev_decision': decision });
      const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'];
      // Pods may run before the node's NodeClaim says that it is in use.
      await world.until(`each NodeClaim is ${conditions.join()}`, (seen) =>
        seen.claims.every((claim) => conditions.every((type) => isTrue(claim, type))),
      );
      const { nodes } = await world.state();
      expect(nodes).toHaveLength(claims.length);
      for (const { metadata, spec } of nodes) {
        expect(metadata.labels).toMatchObject({
          'karpenter.sh/nodepool': 'general',
          'karpenter.sh/capacity-type': 'on-demand',
          'karpenter.sh/registered': 'true',
          'karpenter.sh/initialized': 'true',
        });
        expect(metadata.labels?.['topology.kubernetes.io/zone']).toMatch(/^westeurope-[123]$/);
        expect(metadata.ownerReferences).toMatchObject([{ kind: 'NodeClaim', blockOwnerDeletion: true }]);
        expect(spec.taints ?? []).toEqual([]);
      }
    });

    rarely('a pool and its class soon show their conditions, and the pool what it holds [J12]', async () => {
      const startedMs = Date.now();
      await world.apply(nodePool('general'));
      const ready = async (path: string): Promise<boolean> => isTrue(await world.api.get<Definition>(path), 'Ready');
      await world.until('pool is ready', () => ready(`${POOLS}/general`), 30_000);
      // Clients of Karpenter give them 5 s; a machine that is shared by many gets four times that.
      expect(Date.now() - startedMs).toBeLessThan(20_000);
      const shown = await world.api.get<Definition>(`${CLASSES}/default`);
      expect(conditionOf(shown, 'Ready')?.lastTransitionTime).toBeDefined();
      await world.apply(deployment('inflate', 3));
      const { claims } = await expectConsistent(world, { pods: 3 });
      await world.until('the pool counts its nodes', async () => {
        const { status } = await world.api.get<Definition>(`${POOLS}/general`);
        return status?.nodes === claims.length && status.resources?.['nodes'] === String(claims.length);
      });
    });

    it('pods that shun each other get a node each, and not one more', async () => {
      await world.apply(
        nodePool('general'),
        deployment('shy', 6, { cpu: '100m', memory: '64Mi', pod: oneToANode('shy') }),
      );
      const { claims } = await expectConsistent(world, { pods: 6 });
      expect(claims).toHaveLength(6);
    });

    it('a deleted NodeClaim takes its VM, network interface and disk along, and its pods move [J06]', async () => {
      await world.apply(nodePool('general'), deployment('inflate', 4));
      const before = await expectConsistent(world, { pods: 4 });
      const name = before.claims[0]?.metadata.name ?? '';
      await world.api.remove(`${CLAIMS}/${name}`, {});
      const after = await expectConsistent(world, { pods: 4 });
      expect(after.claims.map(({ metadata }) => metadata.name)).not.toContain(name);
      expect(await readAzureNames(world, 'networkInterfaces')).not.toContain(`aks-${name}`);
      expect((await readAzureNames(world, 'disks')).filter((disk) => disk.includes(name))).toEqual([]);
    });

    rarely(
      'a drain never takes more pods than their disruption budget allows, and ends all the same [K03]',
      async () => {
        const cpu = { cpu: '1500m', memory: '1Gi' };
        await world.apply(nodePool('general'), deployment('guarded', 5, cpu), podDisruptionBudget('guarded', 4));
        const before = await expectConsistent(world, { pods: 5 });
        const byNode = Map.groupBy(before.pods, ({ spec }) => spec.nodeName);
        const [node = '', moving = []] = [...byNode].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
        expect(moving.length, 'pods that have to move, one at a time').toBeGreaterThan(1);
        await world.api.remove(`${CLAIMS}/${node.replace(/^aks-/, '')}`, {});
        let fewest = before.pods.length;
        await world.until('the node is gone', ({ pods, nodes }) => {
          fewest = Math.min(fewest, pods.filter(isRunning).length);
          return !nodes.some(({ metadata }) => metadata.name === node);
        });
        expect(fewest, 'pods that ran at the worst moment').toBeGreaterThanOrEqual(4);
        await expectConsistent(world, { pods: 5 });
      },
    );

    rarely('a deleted Node takes its NodeClaim along [K01]', async () => {
      await world.apply(nodePool('general'), deployment('inflate', 4));
      const before = await expectConsistent(world, { pods: 4 });
      const node = before.nodes[0]?.metadata.name ?? '';
      await world.api.remove(`/api/v1/nodes/${node}`, {});
      await world.until(
        'the claim is gone',
        ({ claims }) => !claims.some(({ metadata }) => node.endsWith(metadata.name)),
      );
      await expectConsistent(world, { pods: 4 });
    });
  });
}
