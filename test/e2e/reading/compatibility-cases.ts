import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isApiError } from '../../../sandbox/kubernetes/client/connection.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { type History, recordHistory } from '../kit/history.ts';
import { hashes, isListed, readMetrics, sumOf } from '../kit/karpenter-reads.ts';
import { deployment, nodeClass, nodePool, oneToANode } from '../kit/manifests.ts';
import { allowAnyNode, demandPoolLabel } from '../kit/node-policy.ts';
import { daemonSet, limitRange, pod, podTemplate, spreadOverZones } from './odd-pods.ts';
import { onceOn } from '../kit/once-on.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type Claim, type Definition, type Node, type Pod, conditionOf, isTrue } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

/**
 * What a client that knows only a kubeconfig expects of a Karpenter: the API, its conditions and their times, exact
 * counts.
 */

const POOLS = '/apis/karpenter.sh/v1/nodepools';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const OVERLAYS = '/apis/karpenter.sh/v1alpha1/nodeoverlays';
const BUFFERS = '/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers';
const CLASSES = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';
const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/default/pods';

/**
 * Clients of Karpenter give a condition 5 s to appear, and the taint of a node whose claim was deleted 3 s. What it
 * took is told with each case; a machine that is shared by many gets four times that.
 */
const CONDITION_MS = 20_000;
const TAINT_MS = 12_000;

/** Pod events of one node are told once in this time, as in Karpenter. */
const POD_EVENTS_MS = 10_000;
/** `consolidateAfter` of the watched node. */
const AFTER_MS = POD_EVENTS_MS + 1_000;

/** Named, for machines in no zone count as a zone of their own, as with Karpenter's Azure provider. */
const ZONES = ['westeurope-1', 'westeurope-2', 'westeurope-3'];

/** A claim with the parts that only these tests read. */
interface FullClaim extends Claim {
  readonly status?: Claim['status'] & {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly lastPodEventTime?: string;
  };
}

interface FullNode extends Node {
  readonly spec: Node['spec'] & { readonly taints?: ReadonlyArray<{ readonly key: string; readonly effect: string }> };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }>;
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

type Annotate = (message: string) => Promise<unknown>;

/** All of it on one running product. */
export function compatibilityCases(mode: Mode): void {
  describe(`what clients of Karpenter expect (${mode})`, () => {
    const rarely = onceOn(mode);
    let world: World;
    let claims: History<FullClaim>;
    let nodes: History<FullNode>;

    beforeAll(async () => {
      world = await startWorld(mode, { systemNode: true, pace: { joinMs: 1_000, readyMs: 500, nodeRemovalMs: 1_000 } });
      claims = await recordHistory<FullClaim>(world, CLAIMS);
      nodes = await recordHistory<FullNode>(world, NODES);
    });
    afterAll(async () => {
      claims?.close();
      nodes?.close();
      await world?.close();
    });

    /** How long after `sinceMs` the first version of `name` that `holds` accepts was seen; waits for it. */
    async function firstSeen<T extends { readonly metadata: { readonly name: string } }>(
      history: History<T>,
      name: string,
      what: string,
      holds: (object: T) => boolean,
      sinceMs: number,
    ): Promise<number> {
      await world.until(`${what} of ${name}`, () => history.first(name, holds, sinceMs) !== null, 60_000);
      return (history.first(name, holds, sinceMs)?.atMs ?? 0) - sinceMs;
    }

    async function makeNodes(pool: object, ...workloads: ReadonlyArray<object>): Promise<ReadonlyArray<string>> {
      await world.apply(pool, ...workloads);
      const pods = workloads.reduce((sum: number, one) => sum + replicasOf(one), 0);
      const state = await expectConsistent(world, { pods });
      const names = state.claims.map(({ metadata }) => metadata.name);
      await world.until('all are initialized', (seen) => seen.claims.every((claim) => isTrue(claim, 'Initialized')));
      return names;
    }

    /** Waits until both have gone, and asserts that the node went first. */
    async function claimGoneLast(name: string): Promise<void> {
      const node = `aks-${name}`;
      await world.until('claim and node are gone', () => claims.gone.has(name) && nodes.gone.has(node));
      expect(claims.goneAs.get(name), `${name} goes after its node`).toBeGreaterThan(nodes.goneAs.get(node) ?? NaN);
    }

    describe('the world before anything is asked for', () => {
      it('nodes that are there from the start are tainted, no pod waits, and no pool or class exists', async () => {
        const list = async (path: string): Promise<ReadonlyArray<FullNode>> =>
          (await world.api.get<{ readonly items: ReadonlyArray<FullNode> }>(path)).items;
        const system = await list(NODES);
        expect(system.length).toBeGreaterThan(0);
        for (const { spec } of system) expect(spec.taints?.length ?? 0).toBeGreaterThan(0);
        for (const path of [PODS, POOLS, CLAIMS, CLASSES]) expect(await list(path), path).toEqual([]);
      });
    });

    describe('kinds', () => {
      it('all kinds of Karpenter are installed, with the rules of their schemas', async () => {
        const names = [
          'nodepools.karpenter.sh',
          'nodeclaims.karpenter.sh',
          'nodeoverlays.karpenter.sh',
          'aksnodeclasses.karpenter.azure.com',
          'capacitybuffers.autoscaling.x-k8s.io',
        ];
        for (const name of names) {
          const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
          const definition = await world.api.get<object>(path);
          expect(JSON.stringify(definition), name).toContain('x-kubernetes-validations');
        }
        for (const path of [POOLS, CLAIMS, OVERLAYS, CLASSES, BUFFERS]) {
          await world.until(`${path} is served`, () => isListed(world, path));
        }
      });

      it.each([
        ['a pool whose label is reserved', POOLS, nodePool('bad', { labels: { 'karpenter.sh/custom': 'x' } })],
        [
          'a pool with In and no values',
          POOLS,
          nodePool('bad', { requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: [] }] }),
        ],
        [
          'an overlay with two prices',
          OVERLAYS,
          {
            apiVersion: 'karpenter.sh/v1alpha1',
            kind: 'NodeOverlay',
            metadata: { name: 'bad' },
            spec: {
              requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
              price: '1',
              priceAdjustment: '+10%',
            },
          },
        ],
        [
          'a buffer of a template that says nothing of how many',
          BUFFERS,
          {
            apiVersion: 'autoscaling.x-k8s.io/v1beta1',
            kind: 'CapacityBuffer',
            metadata: { name: 'bad', namespace: 'default' },
            spec: { podTemplateRef: { name: 'template' } },
          },
        ],
      ])('the API server refuses %s', async (_, path, object) => {
        const refusal = await world.api.create(path, object).catch((error: unknown) => error);
        expect(isApiError(refusal, 422), String(refusal)).toBe(true);
      });
    });

    describe('node classes and pools', () => {
      afterEach(() => removeAll(world));

      it('a class soon shows its conditions, each whole', async ({ annotate }) => {
        const classes = await recordHistory<Definition>(world, CLASSES);
        const startedMs = Date.now();
        await world.apply(nodeClass);
        const tookMs = await firstSeen(classes, 'default', 'Ready', (one) => isTrue(one, 'Ready'), startedMs);
        await annotate(`class Ready after ${tookMs} ms`);
        expect(tookMs).toBeLessThan(CONDITION_MS);
        const shown = await world.api.get<Definition>(`${CLASSES}/default`);
        expectWhole(shown.status?.conditions ?? []);
        classes.close();
      });

      it('a pool carries the hash that Karpenter computes', async ({ annotate }) => {
        const { vectors } = JSON.parse(
          readFileSync(join(import.meta.dirname, '../../fixtures/nodepool-hash-vectors.json'), 'utf8'),
        ) as { readonly vectors: ReadonlyArray<{ readonly hash: string; readonly yaml?: string }> };
        const picked = vectors.filter(({ yaml }) => yaml !== undefined).slice(3, 13);
        const startedMs = Date.now();
        const pools = picked.map(({ yaml = '' }, index) => ({
          ...(parse(yaml) as object),
          metadata: { name: `hash-${index}` },
        }));
        for (const pool of pools) await world.api.create(POOLS, { ...pool, spec: withExpiry(pool) });
        await world.until('all pools are stamped', async () =>
          (await hashes(world, POOLS)).every(({ hash }) => hash !== ''),
        );
        await annotate(`${picked.length} pools stamped after ${Date.now() - startedMs} ms`);
        const found = new Map((await hashes(world, POOLS)).map(({ name, hash }) => [name, hash]));
        expect(picked.map((_, index) => found.get(`hash-${index}`))).toEqual(picked.map(({ hash }) => hash));
      });
    });

    describe('the life of one node, as a watch tells it', () => {
      const POOL = 'watched';
      const startup = { key: 'example.com/starting', effect: 'NoSchedule' };
      const dedicated = { key: 'example.com/dedicated', value: 'batch', effect: 'NoSchedule' };
      let name = '';
      let appliedMs = 0;

      beforeAll(async () => {
        await world.apply(nodeClass);
        if (mode === 'real') await demandPoolLabel(world);
        appliedMs = Date.now();
        await world.apply(
          nodePool(POOL, {
            labels: { team: 'blue' },
            template: { taints: [dedicated], startupTaints: [startup] },
            spec: {
              // It may be consolidated, which is looked at here, and is not.
              disruption: {
                consolidateAfter: `${AFTER_MS / 1_000}s`,
                consolidationPolicy: 'WhenEmptyOrUnderutilized',
                budgets: [{ nodes: '0' }],
              },
            },
          }),
          deployment('inflate', 2, {
            cpu: '200m',
            memory: '128Mi',
            pod: { tolerations: [{ key: dedicated.key, operator: 'Exists' }] },
          }),
        );
        await world.until('the node is registered', (seen) => seen.claims.some((claim) => isTrue(claim, 'Registered')));
        name = (await world.state()).claims[0]?.metadata.name ?? '';
        await world.until(
          'the startup taint is there',
          () => nodes.first(`aks-${name}`, (node) => hasTaint(node, startup.key)) !== null,
        );
        const taints = (await world.api.get<FullNode>(`${NODES}/aks-${name}`)).spec.taints ?? [];
        await world.api.patch(`${NODES}/aks-${name}`, 'merge', {
          spec: { taints: taints.filter(({ key }) => key !== startup.key) },
        });
        await world.until(
          'the node is initialized',
          () => claims.first(name, (claim) => isTrue(claim, 'Initialized')) !== null,
        );
        await expectConsistent(world, { pods: 2 });
      });
      afterAll(async () => {
        if (mode === 'real') await allowAnyNode(world);
        await removeAll(world);
      });

      it('its conditions are Unknown while it is pending, then True in order, and each is whole', async ({
        annotate,
      }) => {
        for (const type of ['Launched', 'Registered', 'Initialized']) {
          const statuses = claims.of(name).flatMap(({ object }) => conditionOf(object, type)?.status ?? []);
          // As with Karpenter, a launch that succeeds at once is the first that the status tells.
          const wanted = type === 'Launched' ? ['True'] : ['Unknown', 'True'];
          expect([...new Set(statuses)], type).toEqual(expect.arrayContaining(wanted));
          expect(statuses.indexOf('True'), type).toBeGreaterThan(statuses.lastIndexOf('Unknown'));
          const tookMs = (claims.first(name, (claim) => isTrue(claim, type))?.atMs ?? 0) - appliedMs;
          await annotate(`${type} ${tookMs} ms after the pods were applied`);
        }
        expect(claims.first(name, (claim) => isTrue(claim, 'Ready'))).not.toBeNull();
        expectWhole((await world.api.get<FullClaim>(`${CLAIMS}/${name}`)).status?.conditions ?? []);
      });

      it('its pool shows that nodes register', async () => {
        const isHealthy = async (): Promise<boolean> =>
          isTrue(await world.api.get<Definition>(`${POOLS}/${POOL}`), 'NodeRegistrationHealthy');
        await world.until('NodeRegistrationHealthy', isHealthy);
      });

      it('its status tells the machine, the node, and what it holds', async () => {
        const { status } = await world.api.get<FullClaim>(`${CLAIMS}/${name}`);
        const node = await world.api.get<FullNode>(`${NODES}/aks-${name}`);
        expect(status?.providerID).toBe(node.spec.providerID);
        expect(status?.providerID).toMatch(/^azure:\/\/\/subscriptions\//);
        expect(status?.nodeName).toBe(node.metadata.name);
        for (const resource of ['cpu', 'memory', 'pods', 'ephemeral-storage']) {
          expect(status?.capacity?.[resource], resource).toBeDefined();
          expect(status?.allocatable?.[resource], resource).toBeDefined();
          expect(node.status?.capacity?.[resource], resource).toBeDefined();
          expect(node.status?.allocatable?.[resource], resource).toBeDefined();
        }
      });

      it('the claim carries the hashes of its pool and class', async () => {
        const pool = await world.api.get<Definition>(`${POOLS}/${POOL}`);
        const shown = await world.api.get<Definition>(`${CLASSES}/default`);
        const claim = await world.api.get<FullClaim>(`${CLAIMS}/${name}`);
        for (const key of ['karpenter.sh/nodepool-hash', 'karpenter.sh/nodepool-hash-version']) {
          expect(pool.metadata.annotations?.[key], key).toMatch(/./);
          expect(claim.metadata.annotations?.[key], key).toBe(pool.metadata.annotations?.[key]);
        }
        for (const key of ['karpenter.azure.com/aksnodeclass-hash', 'karpenter.azure.com/aksnodeclass-hash-version']) {
          expect(shown.metadata.annotations?.[key], key).toMatch(/./);
          expect(claim.metadata.annotations?.[key], key).toBe(shown.metadata.annotations?.[key]);
        }
      });

      it('its node is created with the labels of the claim already on it, under a policy that demands them', () => {
        const [first] = nodes.of(`aks-${name}`);
        expect(first?.object.metadata.labels).toMatchObject({
          'karpenter.sh/nodepool': POOL,
          'karpenter.sh/capacity-type': 'on-demand',
          team: 'blue',
        });
        for (const key of ['topology.kubernetes.io/zone', 'node.kubernetes.io/instance-type', 'kubernetes.io/arch']) {
          expect(first?.object.metadata.labels?.[key], key).toMatch(/./);
        }
        expect(first?.object.spec.taints?.map(({ key }) => key)).toEqual(
          expect.arrayContaining(['karpenter.sh/unregistered', dedicated.key, startup.key]),
        );
      });

      it('its node ends up with labels, annotations, taints and owner of the claim, and is marked initialized', async () => {
        const claim = await world.api.get<FullClaim>(`${CLAIMS}/${name}`);
        const node = await world.api.get<FullNode>(`${NODES}/aks-${name}`);
        expect(node.metadata.labels).toMatchObject({
          ...claim.metadata.labels,
          'karpenter.sh/registered': 'true',
          'karpenter.sh/initialized': 'true',
        });
        expect(node.metadata.annotations?.['karpenter.sh/nodepool-hash']).toBe(
          claim.metadata.annotations?.['karpenter.sh/nodepool-hash'],
        );
        expect(node.spec.taints?.map(({ key }) => key)).toEqual([dedicated.key]);
        expect(node.metadata.ownerReferences).toEqual([
          {
            apiVersion: 'karpenter.sh/v1',
            kind: 'NodeClaim',
            name,
            uid: claim.metadata.uid,
            blockOwnerDeletion: true,
          },
        ]);
        expect(isTrue(node, 'Ready')).toBe(true);
      });

      it('it becomes Consolidatable when consolidateAfter has passed since the last pod came', async ({ annotate }) => {
        await firstSeen(claims, name, 'Consolidatable', (claim) => isTrue(claim, 'Consolidatable'), appliedMs);
        // As it was then: events of one burst are told together, so a later one may have been noted since.
        const claim = claims.first(name, (one) => isTrue(one, 'Consolidatable'), appliedMs)?.object;
        if (claim === undefined) throw new Error('the history holds no version that is Consolidatable');
        // Counted from the last pod event alone, as in Karpenter: a pod that came before the node was initialized
        // counts too.
        const from = Date.parse(claim.status?.lastPodEventTime ?? '');
        const at = Date.parse(conditionOf(claim, 'Consolidatable')?.lastTransitionTime ?? '');
        await annotate(
          `Consolidatable ${(at - from) / 1000} s after the last pod event, with consolidateAfter ${AFTER_MS / 1_000} s`,
        );
        expect(from).toBeGreaterThan(0);
        expect(at - from).toBeGreaterThanOrEqual(AFTER_MS);
        expect(at - from).toBeLessThanOrEqual(AFTER_MS + CONDITION_MS);
      });

      rarely('Consolidatable goes when a pod leaves, and comes back', async ({ annotate }) => {
        await firstSeen(claims, name, 'Consolidatable', (claim) => isTrue(claim, 'Consolidatable'), appliedMs);
        const sinceMs = Date.now();
        await world.api.patch('/apis/apps/v1/namespaces/default/deployments/inflate', 'merge', {
          spec: { replicas: 1 },
        });
        const goneMs = await firstSeen(
          claims,
          name,
          'no Consolidatable',
          (claim) => !isTrue(claim, 'Consolidatable'),
          sinceMs,
        );
        const backMs = await firstSeen(
          claims,
          name,
          'Consolidatable',
          (claim) => isTrue(claim, 'Consolidatable'),
          sinceMs + goneMs,
        );
        await annotate(`Consolidatable gone ${goneMs} ms after the scale-in, back ${backMs} ms later`);
        expect(goneMs).toBeLessThan(POD_EVENTS_MS + CONDITION_MS);
        expect(backMs).toBeLessThan(AFTER_MS + CONDITION_MS);
      });

      it('once its claim is deleted, the node is soon tainted, and all of it goes', async ({ annotate }) => {
        const sinceMs = Date.now();
        await world.api.remove(`${CLAIMS}/${name}`, {});
        const tookMs = await firstSeen(
          nodes,
          `aks-${name}`,
          'taint',
          (node) => hasTaint(node, 'karpenter.sh/disrupted'),
          sinceMs,
        );
        await annotate(`tainted ${tookMs} ms after the claim's deletion`);
        expect(tookMs).toBeLessThan(TAINT_MS);
        await claimGoneLast(name);
        const written = [claims.of(name).length, nodes.of(`aks-${name}`).length];
        await annotate(`the watch told ${written[0]} versions of the claim and ${written[1]} of the node`);
        await annotate(`claim gone ${(claims.gone.get(name) ?? 0) - sinceMs} ms after its deletion`);
        expect(claims.first(name, (claim) => isTrue(claim, 'InstanceTerminating'))).not.toBeNull();
        expect(claims.first(name, (claim) => isTrue(claim, 'Drained'))).not.toBeNull();
      });
    });

    describe('drift', () => {
      beforeAll(() => world.apply(nodeClass));
      afterEach(async () => {
        await removeAll(world);
        await world.api.patch(`${CLASSES}/default`, 'merge', { spec: { osDiskSizeGB: null } });
      });

      const workload = deployment('inflate', 1);
      // That it is shown is looked at here: what becomes of drifted nodes is another suite's.
      const held = nodePool('general', {
        spec: {
          disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never', budgets: [{ nodes: '0' }] },
        },
      });
      const patchPool = (template: object): (() => Promise<unknown>) => {
        return () => world.api.patch(`${POOLS}/general`, 'merge', { spec: { template } });
      };
      const sizes = (family: string): object => ({
        spec: { requirements: [{ key: 'karpenter.azure.com/sku-family', operator: 'In', values: [family] }] },
      });

      async function expectDrift(
        annotate: Annotate,
        reason: string,
        change: () => Promise<unknown>,
        back: () => Promise<unknown>,
      ): Promise<void> {
        const [name = ''] = await makeNodes(held, workload);
        const sinceMs = Date.now();
        await change();
        const isDrifted = (claim: FullClaim): boolean => conditionOf(claim, 'Drifted')?.reason === reason;
        const tookMs = await firstSeen(claims, name, `Drifted ${reason}`, isDrifted, sinceMs);
        const backMs = Date.now();
        await back();
        const clearedMs = await firstSeen(
          claims,
          name,
          'no drift',
          (one) => conditionOf(one, 'Drifted') === undefined,
          backMs,
        );
        await annotate(`${reason} shown after ${tookMs} ms, cleared after ${clearedMs} ms`);
        expect(tookMs).toBeLessThan(CONDITION_MS);
        expect(clearedMs).toBeLessThan(CONDITION_MS);
      }

      it('a changed label of the template is drift, and changed back it is none', ({ annotate }) =>
        expectDrift(
          annotate,
          'NodePoolDrifted',
          patchPool({ metadata: { labels: { team: 'red' } } }),
          patchPool({ metadata: { labels: { team: null } } }),
        ));

      rarely('requirements that no longer allow the node are drift', ({ annotate }) =>
        expectDrift(annotate, 'RequirementsDrifted', patchPool(sizes('E')), patchPool(sizes('D'))),
      );

      rarely('another size of the disk in the class is drift', ({ annotate }) =>
        expectDrift(
          annotate,
          'NodeClassDrift',
          () => world.api.patch(`${CLASSES}/default`, 'merge', { spec: { osDiskSizeGB: 200 } }),
          () => world.api.patch(`${CLASSES}/default`, 'merge', { spec: { osDiskSizeGB: null } }),
        ),
      );

      rarely('hashes of another version are stamped anew, on claims too, and are no drift', async ({ annotate }) => {
        const [name = ''] = await makeNodes(held, workload);
        const key = 'karpenter.sh/nodepool-hash';
        const before = (await hashes(world, POOLS)).find((one) => one.name === 'general');
        const old = { metadata: { annotations: { [key]: '1', [`${key}-version`]: 'v1' } } };
        const sinceMs = Date.now();
        await world.api.patch(`${CLAIMS}/${name}`, 'merge', old);
        await world.api.patch(`${POOLS}/general`, 'merge', old);
        const hasHash =
          (of: string, hash?: string) =>
          (claim: FullClaim): boolean =>
            claim.metadata.annotations?.[of] === hash;
        // The product may be faster than the answer to the patch.
        const spoiltMs = sinceMs + (await firstSeen(claims, name, 'old hash', hasHash(key, '1'), sinceMs));
        const seen = await firstSeen(claims, name, 'new hash', hasHash(key, before?.hash), spoiltMs);
        await annotate(`claims restamped after ${seen} ms`);
        // The pool is stamped by a step of its own, before or after its claims.
        const isAsBefore = async (): Promise<boolean> => (await hashes(world, POOLS))[0]?.hash === before?.hash;
        await world.until('the pool is stamped anew', isAsBefore);
        expect(await hashes(world, POOLS)).toMatchObject([before]);
        expect(await hashes(world, CLAIMS)).toMatchObject([{ hash: before?.hash, version: before?.version }]);
        const ofClass = 'karpenter.azure.com/aksnodeclass-hash';
        const now = await world.api.get<FullClaim>(`${CLAIMS}/${name}`);
        const oldClass = { metadata: { annotations: { [ofClass]: '1', [`${ofClass}-version`]: 'v1' } } };
        const thenMs = Date.now();
        await world.api.patch(`${CLAIMS}/${name}`, 'merge', oldClass);
        await world.api.patch(`${CLASSES}/default`, 'merge', oldClass);
        const wanted = now.metadata.annotations?.[ofClass];
        const oldMs = thenMs + (await firstSeen(claims, name, 'old hash', hasHash(ofClass, '1'), thenMs));
        await firstSeen(claims, name, 'hash', hasHash(ofClass, wanted), oldMs);
        expect(claims.first(name, (claim) => conditionOf(claim, 'Drifted') !== undefined, sinceMs)).toBeNull();
      });
    });

    describe('how many nodes', () => {
      beforeAll(() => world.apply(nodeClass));
      afterEach(() => removeAll(world));

      rarely('nine pods spread over three zones with a skew of three get one node in each', async ({ annotate }) => {
        const sinceMs = Date.now();
        const made = await makeNodes(
          nodePool('general', {
            requirements: [
              { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['8'] },
              { key: 'topology.kubernetes.io/zone', operator: 'In', values: ZONES },
            ],
          }),
          deployment('spread', 9, { cpu: '500m', memory: '256Mi', pod: spreadOverZones('spread', 3) }),
        );
        await annotate(`3 nodes after ${Date.now() - sinceMs} ms`);
        const zones = made.map((name) => zoneOf(nodes.of(`aks-${name}`)[0]?.object));
        expect(zones).toHaveLength(ZONES.length);
        expect(new Set(zones)).toEqual(new Set(ZONES));
      });

      rarely(
        'the defaults of a LimitRange count for daemons: one pod and its daemon get one node',
        async ({ annotate }) => {
          await world.apply(limitRange('2', '2Gi'), daemonSet('agent'));
          try {
            const sinceMs = Date.now();
            await world.apply(nodePool('general'), deployment('one', 1, { cpu: '1500m', memory: '1Gi' }));
            await world.until('the pod and its daemon run', ({ pods }) => pods.filter(isReady).length === 2, 60_000);
            await expectConsistent(world, { pods: 2 });
            await annotate(`pod and daemon run after ${Date.now() - sinceMs} ms`);
            const created = new Set(
              claims.versions.filter(({ atMs }) => atMs > sinceMs).map(({ object }) => object.metadata.name),
            );
            expect([...created]).toHaveLength(1);
          } finally {
            await world.api.remove('/apis/apps/v1/namespaces/default/daemonsets/agent', {
              propagationPolicy: 'Background',
            });
            await world.api.remove('/api/v1/namespaces/default/limitranges/defaults', {});
          }
        },
      );
    });

    describe('the world around it', () => {
      beforeAll(() => world.apply(nodeClass));
      afterEach(() => removeAll(world));

      rarely(
        'pods honour the delay of their deletion and the stage that keeps them unready, as kwok has them',
        async () => {
          const delayed = podTemplate({ annotations: { 'pod-delete.stage.kwok.x-k8s.io/delay': '3s' } });
          const unhealthy = podTemplate({ labels: { 'kwok.x-k8s.io/stage': 'unhealthy' } });
          await world.apply(nodePool('general'), pod('delayed', delayed), pod('unhealthy', unhealthy));
          const phase =
            (name: string) =>
            (seen: { readonly pods: ReadonlyArray<Pod> }): boolean =>
              seen.pods.some((one) => one.metadata.name === name && one.status.phase === 'Running');
          await world.until('both run', (seen) => phase('delayed')(seen) && phase('unhealthy')(seen));
          const sinceMs = Date.now();
          await world.api.remove(`${PODS}/delayed`, {});
          const { pods } = await world.until(
            'the delayed pod has gone',
            (seen) => !seen.pods.some(({ metadata }) => metadata.name === 'delayed'),
          );
          // Counted from the time of deletion, which the API has in whole seconds.
          expect(Date.now() - sinceMs).toBeGreaterThan(1_900);
          expect(pods.filter(isReady)).toEqual([]);
          await world.api.remove(`${PODS}/unhealthy`, { gracePeriodSeconds: 0 });
        },
      );

      rarely('metrics have the names of Karpenter, and count what happens', async () => {
        const limited = nodePool('general', { spec: { limits: { cpu: '100', memory: '400Gi' } } });
        const before = await readMetrics(world);
        const [name = ''] = await makeNodes(limited, deployment('inflate', 1));
        const after = await readMetrics(world);
        for (const metric of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'karpenter_build_info']) {
          expect(sumOf(after, metric), metric).toBeGreaterThan(0);
        }
        const ofPool = (metric: string, labels = ''): number => sumOf(after, metric, `nodepool="general"${labels}`);
        expect(ofPool('karpenter_nodepools_limit', ',resource_type="cpu"')).toBe(100);
        expect(ofPool('karpenter_nodepools_limit', ',resource_type="memory"')).toBe(400 * 2 ** 30);
        expect(ofPool('karpenter_nodepools_usage', ',resource_type="nodes"')).toBe(1);
        expect(ofPool('karpenter_nodepools_usage', ',resource_type="cpu"')).toBeGreaterThanOrEqual(2);
        expect(sumOf(after, 'karpenter_cluster_state_synced')).toBe(1);
        expect(sumOf(after, 'karpenter_cluster_state_node_count')).toBe(2);
        const rise = (metric: string): number => sumOf(after, metric) - sumOf(before, metric);
        expect(rise('karpenter_nodeclaims_created_total')).toBe(1);
        expect(rise('karpenter_nodes_created_total')).toBe(1);
        await world.api.remove(`${CLAIMS}/${name}`, {});
        await world.until('claim and node are gone', () => claims.gone.has(name) && nodes.gone.has(`aks-${name}`));
        await world.until('their end is counted', async () => {
          const last = await readMetrics(world);
          const names = [
            'karpenter_nodeclaims_terminated_total',
            'karpenter_nodes_terminated_total',
            'karpenter_nodes_drained_total',
          ];
          return names.every((metric) => sumOf(last, metric) - sumOf(after, metric) === 1);
        });
        await expectConsistent(world, { pods: 1 });
      });

      rarely('a claim deleted in the foreground waits for its node, and both go', async () => {
        const [name = ''] = await makeNodes(nodePool('general'), deployment('inflate', 1));
        await world.api.remove(`${CLAIMS}/${name}`, { propagationPolicy: 'Foreground' });
        await claimGoneLast(name);
        await expectConsistent(world, { pods: 1 });
      });

      rarely('nodes renew their leases', async () => {
        const [name = ''] = await makeNodes(nodePool('general'), deployment('inflate', 1));
        const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/aks-${name}`;
        await world.api.get<object>(path);
      });
    });
  });
}

function replicasOf(workload: object): number {
  return (workload as { readonly spec: { readonly replicas: number } }).spec.replicas;
}

function expectWhole(conditions: ReadonlyArray<Condition>): void {
  expect(conditions.length).toBeGreaterThan(0);
  for (const condition of conditions) {
    expect(condition, condition.type).toMatchObject({
      lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
      reason: expect.stringMatching(/^[A-Za-z]/) as unknown,
      message: expect.any(String) as unknown,
      observedGeneration: expect.any(Number) as unknown,
    });
  }
}

function hasTaint(node: Node, key: string): boolean {
  return node.spec.taints?.some((taint) => taint.key === key) === true;
}

function zoneOf(node: Node | undefined): string | undefined {
  return node?.metadata.labels?.['topology.kubernetes.io/zone'];
}

function isReady(one: Pod): boolean {
  return one.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/**
 * The vectors leave out what the schema gives a default to that is hashed; said outright, the API server adds nothing.
 */
function withExpiry(pool: object): object {
  const { spec } = pool as { readonly spec: { readonly template: { readonly spec: object } } };
  const { template } = spec;
  return { ...spec, template: { ...template, spec: { expireAfter: 'Never', ...template.spec } } };
}

/** Many nodes at once: a test of its own, for it takes the longest. */
export function manyNodesCases(mode: Mode): void {
  describe(`a hundred nodes at once (${mode})`, () => {
    let world: World;
    beforeAll(async () => {
      world = await startWorld(mode, { azure: {} });
      await world.apply(nodeClass);
    });
    afterAll(() => world?.close());

    it('a hundred pods that shun each other get a hundred nodes', async ({ annotate }) => {
      const sinceMs = Date.now();
      const shy = deployment('shy', 100, { cpu: '100m', memory: '64Mi', pod: oneToANode('shy') });
      await world.apply(nodePool('general'), shy);
      const { claims } = await expectConsistent(world, { pods: 100, withinMs: 250_000 });
      await annotate(`100 pods run on 100 nodes after ${Date.now() - sinceMs} ms`);
      expect(claims).toHaveLength(100);
    });
  });
}
