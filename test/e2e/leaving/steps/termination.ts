import { expect } from 'vitest';
import { podDisruptionBudget } from '../../kit/manifests.ts';
import type { Mode } from '../../kit/world.ts';
import {
  type Client,
  CLAIMS,
  appOn,
  deletedAt,
  gone,
  holds,
  nodeOf,
  onBoth,
  podsOf,
  poolThat,
  protectedFor,
  settled,
} from './client.ts';

const GRACE_S = 20;
/** For so long the pod asks that is told before the deadline. */
const POD_GRACE_S = 10;
const DAEMONS = '/apis/apps/v1/namespaces/default/daemonsets';

/** A DaemonSet of the pool; its pods are as the deployment's would be. */
function daemonsOn(pool: string, name: string, pod: object = {}): object {
  const { spec, ...app } = appOn(pool, 1, { name, cpu: '50m', memory: '32Mi', pod, graceSeconds: 2 }) as {
    readonly spec: { readonly selector: object; readonly template: object };
  };
  return { ...app, kind: 'DaemonSet', spec: { selector: spec.selector, template: spec.template } };
}

/** How a node ends, once its claim is deleted. */
export function terminationCases(client: () => Client, mode: Mode): void {
  const it = onBoth(mode);
  it('pods leave in the order of their tiers, each after the one before has ended [K03]', async () => {
    const { world, pods } = client();
    const critical = { priorityClassName: 'system-cluster-critical' };
    const small = { cpu: '50m', memory: '32Mi', graceSeconds: 2 };
    const tiers = ['plain', 'daemon', 'critical', 'critical-daemon'];
    await world.apply(
      poolThat('tiers', {}),
      daemonsOn('tiers', 'daemon'),
      daemonsOn('tiers', 'critical-daemon', critical),
      appOn('tiers', 1, { ...small, name: 'plain' }),
    );
    const [name = ''] = await settled(client(), 'tiers', 1);
    // On the node that is there: at once with the other they might get two.
    await world.apply(appOn('tiers', 1, { ...small, name: 'critical', pod: critical }));
    const state = await world.until('four pods run', (seen) => podsOf(seen, 'tiers').length === tiers.length);
    await settled(client(), 'tiers', 1);
    const nameOf = (app: string): string =>
      podsOf(state, 'tiers').find(({ metadata }) => metadata.labels?.['app'] === app)?.metadata.name ?? '';
    await world.api.remove(`${CLAIMS}/${name}`, {});
    await gone(client(), [name]);
    for (const [index, tier] of tiers.entries()) {
      const before = tiers[index - 1];
      if (before === undefined) continue;
      const began = pods.first(nameOf(tier), ({ metadata }) => metadata.deletionTimestamp !== undefined)?.atMs;
      const ended = pods.gone.get(nameOf(before));
      expect(began, `${tier} after ${before}`).toBeGreaterThanOrEqual(ended ?? Infinity);
    }
    await Promise.all(['daemon', 'critical-daemon'].map((one) => world.api.remove(`${DAEMONS}/${one}`, {})));
  });

  it('a drain that pods or their budgets block waits; with a terminationGracePeriod it ends at its deadline [K03] [K06]', async () => {
    const { world, claims, pods } = client();
    const hurried = ['kept', 'budgeted'];
    await world.apply(
      // What is made for its pod meanwhile is empty as long as the pod may not go.
      poolThat('endless', { consolidateAfter: '0s' }),
      ...hurried.map((pool) => poolThat(pool, {}, { template: { terminationGracePeriod: `${GRACE_S}s` } })),
      protectedFor('true', appOn('endless', 1)),
      protectedFor('true', appOn('kept', 1)),
      appOn('budgeted', 1, { graceSeconds: POD_GRACE_S }),
      podDisruptionBudget('budgeted', 1),
    );
    const [stuck = ''] = await settled(client(), 'endless', 1);
    const [kept = ''] = await settled(client(), 'kept', 1);
    const [budgeted = ''] = await settled(client(), 'budgeted', 1);
    const state = await world.state();
    await Promise.all([stuck, kept, budgeted].map((one) => world.api.remove(`${CLAIMS}/${one}`, {})));
    await gone(client(), [kept, budgeted]);
    // A pod is told as long before the deadline as it asks for. Times in the API are whole seconds.
    const told = (pool: string): number => {
      const claim = pool === 'kept' ? kept : budgeted;
      const [pod] = podsOf(state, pool);
      const deadlineMs = (deletedAt(claims, claim) ?? 0) + GRACE_S * 1_000;
      return deadlineMs - (deletedAt(pods, pod?.metadata.name ?? '') ?? 0);
    };
    expect(told('budgeted')).toBeGreaterThan(POD_GRACE_S * 500);
    expect(told('budgeted')).toBeLessThan(POD_GRACE_S * 1_000 + 1_500);
    expect(told('kept')).toBeLessThan(1_500);
    await holds(client(), 'the node whose pod may not be disrupted drains on', ({ nodes, pods: now }) => {
      const isThere = nodes.some(({ metadata }) => metadata.name === nodeOf(stuck));
      return (
        isThere &&
        now.some(({ spec, metadata }) => spec.nodeName === nodeOf(stuck) && metadata.deletionTimestamp === undefined)
      );
    });
    const made = new Set(
      claims.versions.map(({ object }) => object.metadata.name).filter((one) => one.startsWith('endless-')),
    );
    expect(made.size, 'one for the pod, and at most one for where it is to go').toBeLessThanOrEqual(2);
    await world.apply(appOn('endless', 0));
    await gone(client(), [stuck]);
  });
}
