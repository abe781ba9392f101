import { expect } from 'vitest';
import { nodeClass } from '../../kit/manifests.ts';
import { type Claim, type Node, type State, isRunning, isTrue } from '../../kit/state.ts';
import {
  type Client,
  CLAIMS,
  CLASSES,
  POOLS,
  appOn,
  claimsIn,
  deletedAt,
  driftOf,
  gone,
  holds,
  isGoing,
  isTainted,
  mostLeaving,
  nodeOf,
  onBoth,
  onDouble,
  nodesIn,
  patchPool,
  podsOf,
  poolThat,
  scale,
  settled,
  untouched,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

const TOLERANT = { pod: { tolerations: [{ key: 'example.com/team', operator: 'Exists' }] } };

interface Change {
  readonly reason: 'NodePoolDrifted' | 'RequirementsDrifted' | 'NodeClassDrift';
  /** Of the pool's template, or of the class. */
  readonly template?: object;
  readonly nodeClass?: object;
  /** What the new node or claim then shows. */
  readonly shows: (node: Node, claim: Claim) => unknown;
}

/** A field each; pools are named after them. */
const changes: Readonly<Record<string, Change>> = {
  labels: {
    reason: 'NodePoolDrifted',
    template: { metadata: { labels: { team: 'red' } } },
    shows: ({ metadata }) => metadata.labels?.['team'] === 'red',
  },
  annotations: {
    reason: 'NodePoolDrifted',
    template: { metadata: { annotations: { 'example.com/team': 'red' } } },
    shows: ({ metadata }) => metadata.annotations?.['example.com/team'] === 'red',
  },
  taints: {
    reason: 'NodePoolDrifted',
    template: { spec: { taints: [{ key: 'example.com/team', value: 'red', effect: 'NoSchedule' }] } },
    shows: ({ spec }) => spec.taints?.some(({ key }) => key === 'example.com/team'),
  },
  'expire-after': {
    reason: 'NodePoolDrifted',
    template: { spec: { expireAfter: '720h' } },
    shows: (_node, claim) => claim.spec.expireAfter === '720h',
  },
  'grace-period': {
    reason: 'NodePoolDrifted',
    template: { spec: { terminationGracePeriod: '60s' } },
    shows: (_node, claim) => claim.spec.terminationGracePeriod === '60s',
  },
  requirements: {
    reason: 'RequirementsDrifted',
    template: {
      spec: {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['4'] },
        ],
      },
    },
    shows: ({ metadata }) => metadata.labels?.['karpenter.azure.com/sku-cpu'] === '4',
  },
  'class-disk': { reason: 'NodeClassDrift', nodeClass: { osDiskSizeGB: 200 }, shows: () => true },
  'class-pods': { reason: 'NodeClassDrift', nodeClass: { maxPods: 40 }, shows: () => true },
};

const LABELS = { template: { metadata: { labels: { team: 'red' } } } };

/**
 * That the pool's node has gone for the reason of the change, and that the new one shows it and was ready before a pod
 * left.
 */
async function expectSuccessor(
  client: Client,
  {
    pool,
    change: { reason, shows },
    old,
    before,
  }: { readonly pool: string; readonly change: Change; readonly old: string; readonly before: State },
): Promise<void> {
  const { world, claims, pods } = client;
  const [successor = ''] = await settled(client, pool, 1);
  const state = await world.state();
  const [claim] = claimsIn(state, pool);
  const [node] = nodesIn(state, pool);
  if (claim === undefined || node === undefined) throw new Error(`${pool} has no node`);
  expect(shows(node, claim), `what the new node of ${pool} shows`).toBe(true);
  const drifted = claims.first(old, (one) => driftOf({ claims: [one] }, old) === reason);
  expect(drifted, `${reason} of ${pool}`).not.toBeNull();
  const [pod] = podsOf(before, pool);
  const readyMs = claims.first(successor, (one) => isTrue(one, 'Initialized'))?.atMs ?? Infinity;
  const leftMs = deletedAt(pods, pod?.metadata.name ?? '') ?? 0;
  expect(readyMs, `the successor of ${pool} is ready first`).toBeLessThan(leftMs);
}

/** Nodes that are not what their pool or class asks for any more. */
export function driftCases(client: () => Client, mode: Mode): void {
  const it = onBoth(mode);
  const rarely = onDouble(mode);
  it('each field of a template or class that changes is drift: the nodes are replaced, by nodes that show it [J10]', async () => {
    const { world } = client();
    const pools = Object.keys(changes);
    for (const pool of pools) {
      const ofClass = { ...nodeClass, metadata: { name: pool } };
      await world.apply(ofClass, poolThat(pool, {}, { nodeClass: pool }), appOn(pool, 1, TOLERANT));
    }
    const names = new Map<string, string>();
    for (const pool of pools) {
      const [name = ''] = await settled(client(), pool, 1);
      names.set(pool, name);
    }
    const before = await world.state();
    for (const [pool, { template, nodeClass: spec }] of Object.entries(changes)) {
      const [path, patch] =
        template === undefined ? [`${CLASSES}/${pool}`, { spec }] : [`${POOLS}/${pool}`, { spec: { template } }];
      await world.api.patch(path, 'merge', patch);
    }
    await gone(client(), [...names.values()], 120_000);
    for (const [pool, change] of Object.entries(changes)) {
      await expectSuccessor(client(), { pool, change, old: names.get(pool) ?? '', before });
    }
    await Promise.all(pools.map((pool) => world.api.remove(`${CLASSES}/${pool}`, {})));
  });

  rarely(
    'budgets bound how many drifted nodes go at a time, with pods and without, and 0 holds all [L03]',
    async () => {
      const { world } = client();
      const budgets: Readonly<Record<string, string>> = { 'drift-none': '0', 'drift-two': '2', 'drift-empty': '50%' };
      const pools = Object.keys(budgets);
      const sizes: Readonly<Record<string, number>> = { 'drift-none': 1, 'drift-two': 4, 'drift-empty': 4 };
      await world.apply(
        ...pools.map((pool) => poolThat(pool, { budgets: [{ nodes: budgets[pool], reasons: ['Drifted'] }] })),
        ...pools.map((pool) => appOn(pool, sizes[pool] ?? 1)),
      );
      const names = new Map<string, ReadonlyArray<string>>();
      for (const pool of pools) names.set(pool, await settled(client(), pool, sizes[pool] ?? 1));
      await scale(client(), 'drift-empty', 0);
      const sinceMs = Date.now();
      await Promise.all(pools.map((pool) => patchPool(client(), pool, LABELS)));
      await gone(client(), [...(names.get('drift-two') ?? []), ...(names.get('drift-empty') ?? [])], 120_000);
      expect(mostLeaving(client(), 'drift-two', sinceMs)).toBe(2);
      expect(mostLeaving(client(), 'drift-empty', sinceMs)).toBe(2);
      await settled(client(), 'drift-two', 4);
      const held = names.get('drift-none') ?? [];
      await holds(client(), 'a drifted node stays under a budget of 0', (state) => untouched(state, held));
      expect(driftOf(await world.state(), held[0] ?? '')).toBe('NodePoolDrifted');
    },
  );

  it('a drifted node whose replacement fails stays with its pods, and its taint is taken away [L12]', async () => {
    const { world, nodes } = client();
    await world.apply(poolThat('doomed', {}), appOn('doomed', 1));
    const [name = ''] = await settled(client(), 'doomed', 1);
    const uids = podsOf(await world.state(), 'doomed').map(({ metadata }) => metadata.uid);
    // Nobody takes it away: such a node never becomes initialized.
    const startupTaints = [{ key: 'example.com/never-ready', effect: 'NoSchedule' }];
    await patchPool(client(), 'doomed', { template: { spec: { startupTaints } } });
    const others = (state: { readonly claims: ReadonlyArray<Claim> }): ReadonlyArray<Claim> =>
      claimsIn(state, 'doomed').filter(({ metadata }) => metadata.name !== name);
    const began = await world.until('a replacement has registered, and the node is tainted', (state) => {
      const isRegistered = others(state).some((claim) => isTrue(claim, 'Registered'));
      return (
        isRegistered && nodesIn(state, 'doomed').some((node) => node.metadata.name === nodeOf(name) && isTainted(node))
      );
    });
    const [replacement] = others(began);
    await holds(client(), 'the old node waits for its replacement', (state) => {
      return !isGoing(state.claims.find(({ metadata }) => metadata.name === name) as Claim);
    });
    // As somebody does who has seen enough of it; the pool goes back to what it was.
    await patchPool(client(), 'doomed', { template: { spec: { startupTaints: null } } });
    await world.until('the node has drifted no more', (state) => driftOf(state, name) === null);
    await world.api.remove(`${CLAIMS}/${replacement?.metadata.name ?? ''}`, {});
    // The taint goes first, what the claim says last.
    await world.until('the old node is as it was', (state) => {
      const claim = claimsIn(state, 'doomed').find(({ metadata }) => metadata.name === name);
      const isMarked = claim === undefined || isTrue(claim, 'DisruptionReason');
      return untouched(state, [name]) && others(state).length === 0 && !isMarked;
    });
    expect(nodes.gone.has(nodeOf(name))).toBe(false);
    const left = podsOf(await world.state(), 'doomed').filter(isRunning);
    expect(left.map(({ metadata }) => metadata.uid)).toEqual(uids);
  });
}
