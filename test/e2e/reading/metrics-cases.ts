import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { readMetrics, sumOf } from '../kit/karpenter-reads.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type Claim, isRunning } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const PLANS = 'karpenter_scheduler_scheduling_duration_seconds_count';
const DECISIONS = 'karpenter_pods_scheduling_decision_duration_seconds_count';
const UNSCHEDULABLE = 'karpenter_scheduler_unschedulable_pods_count';
const ZONES = 'karpenter_scheduler_pending_pods_by_effective_zone_count';

interface ToldEvent {
  readonly reason: string;
  readonly involvedObject: { readonly kind: string };
}

/** A pod that no zone of the region holds. */
const misplaced = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'misplaced', namespace: 'default' },
  spec: {
    nodeSelector: { 'topology.kubernetes.io/zone': 'westeurope-9' },
    containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '1' } } }],
  },
};

/**
 * Karpenter's metrics of scheduling, from real plans: what the functions decide outside is scraped from the relay
 * inside.
 */
export function metricsCases(mode: Mode): void {
  describe(`metrics of scheduling (${mode}) [I15]`, () => {
    let world: World;

    beforeAll(async () => {
      // What a host had in its hands when it was killed comes back when its lock ends.
      world = await startWorld(mode, { lockSeconds: 30 });
      await world.apply(nodeClass, nodePool('general'));
    });
    afterAll(() => world?.close());

    /** Plans as the portal sees them: a line each. */
    const plansLogged = (): ReadonlyArray<string> => world.lines.filter((line) => line.includes('"event":"planned"'));
    const scrape = (): Promise<string> => readMetrics(world).catch(() => '');

    /** Plans that were logged in the moment in which the functions were killed, and may not have been counted. */
    let uncounted = 0;

    /** Waits until the scraped count is the logged one, and gives the page. */
    async function countedOnce(above: number): Promise<string> {
      let page = '';
      await world.until('each plan is counted once', async () => {
        const logged = plansLogged().length;
        page = await scrape();
        const lost = uncounted + world.lines.filter((line) => line.includes('"event":"figures-lost"')).length;
        const missing = logged - sumOf(page, PLANS);
        return logged > above && missing >= 0 && missing <= lost && plansLogged().length === logged;
      });
      return page;
    }

    it('a plan is seen in them, with what it could not place, and in the portal with the same figures', async () => {
      await world.apply(deployment('inflate', 3), misplaced);
      // The pool may become ready after the first plan, which then places nobody.
      await world.until('all but one have a place', ({ pods }) => pods.filter(isRunning).length === 3);
      await world.until('one is unschedulable', async () => sumOf(await scrape(), UNSCHEDULABLE) === 1);
      const page = await countedOnce(0);
      expect([sumOf(page, 'karpenter_scheduler_queue_depth'), sumOf(page, DECISIONS)]).toEqual([0, 4]);
      expect(sumOf(page, ZONES, 'zone="westeurope-9"')).toBe(1);
      expect(sumOf(page, 'karpenter_scheduler_ignored_pods_count')).toBe(0);
      expect(sumOf(page, 'karpenter_pods_scheduling_decision_duration_seconds_sum')).toBeGreaterThan(0);
      expect(plansLogged().some((line) => line.includes('"unschedulable":1') && line.includes('westeurope-9'))).toBe(
        true,
      );
    });

    it('nodes, pods and prices are in them, and claims have the events and the price that people look for', async () => {
      await world.until('each running pod is shown', async () => {
        return sumOf(await scrape(), 'karpenter_pods_state', 'phase="Running"') >= 3;
      });
      const page = await scrape();
      expect(sumOf(page, 'karpenter_nodes_allocatable', 'nodepool="general"')).toBeGreaterThan(0);
      expect(sumOf(page, 'karpenter_nodes_total_pod_requests', 'nodepool="general"')).toBeGreaterThan(0);
      expect(sumOf(page, 'karpenter_nodepools_cost_total')).toBeGreaterThan(0);
      const { items: claims } = await world.api.get<{ readonly items: ReadonlyArray<Claim> }>(
        '/apis/karpenter.sh/v1/nodeclaims',
      );
      for (const { metadata } of claims) {
        expect(metadata.annotations?.['nodewright.dev/price-per-hour']).toMatch(/^0\.\d+ USD$/);
        expect(metadata.annotations?.['nodewright.dev/size-reason']).toMatch(/^holds \d/);
      }
      const told = {
        NodeClaim: ['Launched', 'Registered', 'Initialized'],
        NodePool: ['Provisioned'],
        Pod: ['Nominated'],
      };
      // Pods may run before the node's NodeClaim says that it is in use.
      await world.until(`events say ${JSON.stringify(told)}`, async () => {
        const { items } = await world.api.get<{ readonly items: ReadonlyArray<ToldEvent> }>('/api/v1/events');
        return Object.entries(told).every(([kind, reasons]) =>
          reasons.every((reason) => items.some((one) => one.involvedObject.kind === kind && one.reason === reason)),
        );
      });
    });

    it('what is deleted is not unschedulable any more, though no plan is made for that', async () => {
      await world.api.remove('/api/v1/namespaces/default/pods/misplaced', { gracePeriodSeconds: 0 });
      await expectConsistent(world, { pods: 3 });
      await world.until('nothing is unschedulable', async () => {
        const page = await scrape();
        return page.includes(`${UNSCHEDULABLE}{`) && sumOf(page, UNSCHEDULABLE) === 0 && !page.includes(`${ZONES}{`);
      });
    });

    it('functions that were killed and started go on counting where they were', async () => {
      const before = sumOf(await countedOnce(0), PLANS);
      await world.sandbox.host.kill();
      uncounted += plansLogged().length - before;
      await world.sandbox.host.start();
      await world.apply(deployment('more', 2));
      await expectConsistent(world, { pods: 5 });
      const page = await countedOnce(before);
      expect(sumOf(page, DECISIONS)).toBe(6);
    });

    it('a relay that was killed and started shows the plans of before, and no decision again', async () => {
      const before = sumOf(await countedOnce(0), PLANS);
      await world.sandbox.relay.kill();
      await world.sandbox.relay.start();
      // Its start may bring another look.
      const page = await countedOnce(before - 1);
      expect(sumOf(page, DECISIONS)).toBe(0);
    });
  });
}
