import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type History, recordHistory } from '../../kit/history.ts';
import { deployment, nodePool } from '../../kit/manifests.ts';
import { type Claim, type Node, type Pod, type State, conditionOf, isRunning, isTrue } from '../../kit/state.ts';
import { type Mode, type World, startWorld } from '../../kit/world.ts';

export const POOLS = '/apis/karpenter.sh/v1/nodepools';
export const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
export const CLASSES = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';
export const NODES = '/api/v1/nodes';
export const PODS = '/api/v1/namespaces/default/pods';
export const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
export const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

const DISRUPTED = 'karpenter.sh/disrupted';
const PROTECTED = 'karpenter.sh/do-not-disrupt';
/** Of claims, nodes, and the selectors of the cases' pods. */
export const POOL = 'karpenter.sh/nodepool';

/** Cases in which a real control plane has no part of its own: they run on the double only. */
export function onDouble(mode: Mode): typeof it | typeof it.skip {
  return mode === 'real' ? it.skip : it;
}

/** Cases that run on both. Where the real control plane follows (`REAL_FOLLOWS=1`, in CI) they run there alone. */
export function onBoth(mode: Mode): typeof it | typeof it.skip {
  return mode !== 'real' && process.env['REAL_FOLLOWS'] === '1' ? it.skip : it;
}

/** Between two looks at what could be removed. */
export const LOOK_MS = 2_000;

/**
 * In this time a node would be gone for certain, if anything let it: two looks, the wait between them, and the drain.
 */
export const LOOKS_MS = 2 * LOOK_MS + 5_000;

/** Somebody who has a kubeconfig and knows Karpenter: applies objects, and looks at what becomes of them. */
export interface Client {
  readonly world: World;
  readonly nodes: History<Node>;
  readonly claims: History<Claim>;
  readonly pods: History<Pod>;
  close(): Promise<void>;
}

/** Starts the product with all gates of Karpenter that are about nodes that go. */
export async function openClient(mode: Mode): Promise<Client> {
  const world = await startWorld(mode, {
    systemNode: true,
    settings: {
      FEATURE_GATES: 'NodeRepair=true,StaticCapacity=true',
      DISRUPT_SCHEDULE: `*/${LOOK_MS / 1_000} * * * * *`,
    },
  });
  const nodes = await recordHistory<Node>(world, NODES);
  const claims = await recordHistory<Claim>(world, CLAIMS);
  const pods = await recordHistory<Pod>(world, PODS);
  return {
    world,
    nodes,
    claims,
    pods,
    close: async () => {
      for (const history of [nodes, claims, pods]) history.close();
      await world.close();
    },
  };
}

/** Deletes what the cases have applied, and waits for nothing. */
export async function removeOwn({ world: { api } }: Client): Promise<void> {
  for (const path of [DEPLOYMENTS, BUDGETS, POOLS]) {
    // One after the other: a workload without its pool would ask for nodes of others.
    const { items } = await api.get<{
      readonly items: ReadonlyArray<{ readonly metadata: { readonly name: string } }>;
    }>(path);
    await Promise.all(
      items.map(({ metadata }) => api.remove(`${path}/${metadata.name}`, { propagationPolicy: 'Background' })),
    );
  }
}

/** Two cores: room for one pod of the default size. */
const SMALLEST = [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] }];

/** A pool of small nodes of which all may go at once, once nobody needs them, unless told otherwise. */
export function poolThat(
  name: string,
  disruption: object,
  options: Parameters<typeof nodePool>[1] & { readonly spec?: object } = {},
): object {
  const said = {
    consolidationPolicy: 'WhenEmpty',
    consolidateAfter: 'Never',
    budgets: [{ nodes: '100%' }],
    ...disruption,
  };
  return nodePool(name, { requirements: SMALLEST, ...options, spec: { ...options.spec, disruption: said } });
}

/** Pods that run on nodes of the pool alone; by its name unless told. */
export function appOn(
  pool: string,
  replicas: number,
  options: Parameters<typeof deployment>[2] & { readonly name?: string } = {},
): object {
  const { name = pool, pod, ...others } = options;
  return deployment(name, replicas, { ...others, pod: { nodeSelector: { [POOL]: pool }, ...pod } });
}

/** The same deployment with annotations or labels on its pods. */
export function withPodMetadata(
  app: object,
  metadata: { readonly annotations?: object; readonly labels?: object },
): object {
  const { spec, ...others } = app as {
    readonly spec: { readonly template: { readonly metadata: { labels: object } } };
  };
  const { template } = spec;
  const labels = { ...template.metadata.labels, ...metadata.labels };
  return { ...others, spec: { ...spec, template: { ...template, metadata: { ...metadata, labels } } } };
}

/** The same with `do-not-disrupt` on its pods. */
export function protectedFor(value: string, app: object): object {
  return withPodMetadata(app, { annotations: { [PROTECTED]: value } });
}

export const protectedNode = (value: string | null): object => ({ metadata: { annotations: { [PROTECTED]: value } } });

export function patchPool({ world }: Client, name: string, spec: object): Promise<unknown> {
  return world.api.patch(`${POOLS}/${name}`, 'merge', { spec });
}

export function scale({ world }: Client, app: string, replicas: number): Promise<unknown> {
  return world.api.patch(`${DEPLOYMENTS}/${app}`, 'merge', { spec: { replicas } });
}

export function claimsIn({ claims }: Pick<State, 'claims'>, pool: string): ReadonlyArray<Claim> {
  return claims.filter(({ metadata }) => metadata.labels?.[POOL] === pool);
}

export function nodesIn({ nodes }: Pick<State, 'nodes'>, pool: string): ReadonlyArray<Node> {
  return nodes.filter(({ metadata }) => metadata.labels?.[POOL] === pool);
}

export const nodeOf = (claim: string): string => `aks-${claim}`;

export function podsOn({ pods }: Pick<State, 'pods'>, node: string): ReadonlyArray<Pod> {
  return pods.filter(({ spec }) => spec.nodeName === node);
}

export function isTainted({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === DISRUPTED) === true;
}

export const isGoing = ({ metadata }: Node | Claim | Pod): boolean => metadata.deletionTimestamp !== undefined;

export function podsOf({ pods }: Pick<State, 'pods'>, pool: string): ReadonlyArray<Pod> {
  return pods.filter(({ spec }) => spec.nodeSelector?.[POOL] === pool);
}

/** Waits until the pool has so many nodes, all initialized, and all its pods run; answers the claims' names. */
export async function settled({ world }: Client, pool: string, nodes: number): Promise<ReadonlyArray<string>> {
  const state = await world.until(`${nodes} nodes of ${pool} run all pods`, (seen) => {
    const own = claimsIn(seen, pool);
    return (
      own.length === nodes &&
      nodesIn(seen, pool).length === nodes &&
      own.every((claim) => isTrue(claim, 'Initialized') && !isGoing(claim)) &&
      podsOf(seen, pool).every(isRunning)
    );
  });
  return claimsIn(state, pool).map(({ metadata }) => metadata.name);
}

/** Waits until nothing is left of these claims, nodes included. */
export async function gone({ world }: Client, names: ReadonlyArray<string>, withinMs?: number): Promise<State> {
  const left = new Set([...names, ...names.map(nodeOf)]);
  return world.until(
    `${names.join(', ')} is gone`,
    ({ claims, nodes }) => ![...claims, ...nodes].some(({ metadata }) => left.has(metadata.name)),
    withinMs,
  );
}

/** Looks on for so long; throws as soon as it does not hold. */
export async function holds(
  { world }: Client,
  what: string,
  isSo: (state: State) => boolean,
  forMs = LOOKS_MS,
): Promise<void> {
  const end = Date.now() + forMs;
  while (Date.now() < end) {
    // One look after the other.
    const state = await world.state();
    expect(isSo(state), what).toBe(true);
    await sleep(250);
  }
}

/** True while all of these nodes are there, are to stay, and take pods. */
export function untouched(state: State, names: ReadonlyArray<string>): boolean {
  const nodes = new Map(state.nodes.map((node) => [node.metadata.name, node]));
  const claims = new Map(state.claims.map((claim) => [claim.metadata.name, claim]));
  return names.every((name) => {
    const [node, claim] = [nodes.get(nodeOf(name)), claims.get(name)];
    return node !== undefined && claim !== undefined && !isTainted(node) && !isGoing(node) && !isGoing(claim);
  });
}

/**
 * How many nodes of the pool were in disruption at the worst moment since then, as Karpenter's suites count it: tainted
 * or being deleted, until their machine is being removed.
 */
export function mostLeaving({ nodes, claims }: Client, pool: string, sinceMs: number): number {
  const removing = new Map<string, number>();
  for (const { atMs, object } of claims.versions) {
    const node = nodeOf(object.metadata.name);
    if (isTrue(object, 'InstanceTerminating') && !removing.has(node)) removing.set(node, atMs);
  }
  const changes = nodes.versions
    .filter(({ atMs, object }) => atMs >= sinceMs && object.metadata.labels?.[POOL] === pool)
    .map(({ atMs, object }) => ({ atMs, name: object.metadata.name, leaves: isTainted(object) || isGoing(object) }));
  const ends = [...removing, ...nodes.gone].map(([name, atMs]) => ({ atMs, name, leaves: false }));
  const leaving = new Set<string>();
  let most = 0;
  for (const { name, leaves, atMs } of [...changes, ...ends].toSorted((a, b) => a.atMs - b.atMs)) {
    if (leaves && atMs < (removing.get(name) ?? Infinity)) leaving.add(name);
    else leaving.delete(name);
    most = Math.max(most, leaving.size);
  }
  return most;
}

/**
 * The most claims of the pool that were there at once since then, those that are being deleted left out, which limits
 * do not count.
 */
export function mostClaims({ claims }: Client, pool: string, sinceMs: number): number {
  const there = new Set<string>();
  const changes = claims.versions
    .filter(({ object }) => object.metadata.labels?.[POOL] === pool)
    .map(({ atMs, object }) => ({ atMs, name: object.metadata.name, is: !isGoing(object) }));
  const ends = [...claims.gone].map(([name, atMs]) => ({ atMs, name, is: false }));
  let most = 0;
  for (const { atMs, name, is } of [...changes, ...ends].toSorted((a, b) => a.atMs - b.atMs)) {
    if (is) there.add(name);
    else there.delete(name);
    if (atMs >= sinceMs) most = Math.max(most, there.size);
  }
  return most;
}

/** When a watch first told of the object's deletion, or of its end; null: never. */
export function deletedAt<T extends Node | Claim | Pod>(history: History<T>, name: string): number | null {
  return history.first(name, isGoing)?.atMs ?? history.gone.get(name) ?? null;
}

/** The reason of the drift that the claim shows; null when it shows none. */
export function driftOf(state: Pick<State, 'claims'>, name: string): string | null {
  const claim = state.claims.find(({ metadata }) => metadata.name === name);
  const drifted = claim === undefined ? undefined : conditionOf(claim, 'Drifted');
  return drifted?.status === 'True' ? (drifted.reason ?? '') : null;
}
