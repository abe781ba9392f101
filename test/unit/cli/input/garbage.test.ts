import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { WrongInputError } from '../../../../cli/wrong-input.ts';
import { planManifests, pool, workload } from '../../../kit/cli/plan-manifests.ts';
import { drawsOf } from '../../../setup/draws.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodewright-garbage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const offerings = [{ zone: 'z-1', capacityType: 'on-demand', pricePerHour: '0.1' }];
const capacity = { cpu: '8', memory: '32Gi', pods: '30' };
const labels = { 'karpenter.azure.com/sku-family': 'D' };
const catalog = join(folder, 'catalog.json');
writeFileSync(
  catalog,
  JSON.stringify({
    apiVersion: 'nodewright.dev/v1alpha1',
    kind: 'Catalog',
    region: 'z',
    instanceTypes: [{ name: 'D8', labels, capacity, offerings }],
  }),
);

const parts = [
  pool,
  workload('Deployment', 'web', 2),
  `${workload('StatefulSet', 'db', 1)}  volumeClaimTemplates: [{ metadata: { name: data }, spec: { storageClassName: disk } }]\n`,
  workload('DaemonSet', 'agent', 1).replace('replicas: 1', 'minReadySeconds: 0'),
  '{ apiVersion: batch/v1, kind: Job, metadata: { name: j }, spec: { parallelism: 2, template: { spec: { containers: [{ name: a }] } } }, status: { conditions: [{ type: Failed, status: "False" }] } }',
  '{ apiVersion: v1, kind: Node, metadata: { name: n, labels: { a: b } }, spec: { taints: [{ key: a, effect: NoSchedule }] }, status: { capacity: { cpu: 4, memory: 8Gi, pods: 9 } } }',
  '{ apiVersion: v1, kind: Pod, metadata: { name: p, ownerReferences: [{ kind: ReplicaSet, name: r, uid: u, apiVersion: apps/v1 }] }, spec: { nodeName: n, containers: [{ name: a }] }, status: { phase: Running, conditions: [] } }',
  '{ apiVersion: v1, kind: LimitRange, metadata: { name: l }, spec: { limits: [{ type: Container, default: { cpu: 1 } }] } }',
  '{ apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: { name: disk }, provisioner: x, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{ matchLabelExpressions: [{ key: topology.kubernetes.io/zone, values: [z-1] }] }] }',
  '{ apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: { name: high }, value: 10, globalDefault: true }',
  '{ apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: { name: c, labels: { karpenter.sh/nodepool: general }, annotations: { nodewright.dev/planned-offering: D8/z-1/on-demand } }, spec: { nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }, requirements: [] } }',
  '{ apiVersion: karpenter.sh/v1alpha1, kind: NodeOverlay, metadata: { name: o }, spec: { requirements: [], price: "0.5" } }',
  '{ apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: { name: b }, spec: { selector: { matchLabels: { app: web } }, minAvailable: 50% } }',
];

const objects = parts.flatMap((part) => {
  const documents = parseAllDocuments(part);
  return (Array.isArray(documents) ? documents : []).map((document) => document.toJS() as object);
});

/** Every place in a value, as paths of keys. */
function placesOf(value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, field]) => placesOf(field, [...path, key]))];
}

const places = placesOf(objects).filter((path) => path.length > 0);
const junk = [
  null,
  true,
  0,
  -1,
  2 ** 40,
  0.5,
  '',
  'x',
  '-5',
  '1e99',
  [],
  [null],
  [[]],
  {},
  { x: null },
  { a: { b: [{}] } },
];

/** The objects with junk in a place. */
function spoiled(base: unknown, path: ReadonlyArray<string>, value: unknown): unknown {
  const copy = structuredClone(base);
  let at = copy;
  for (const key of path.slice(0, -1)) at = typeof at === 'object' ? (at as Record<string, unknown> | null)?.[key] : at;
  if (typeof at === 'object' && at !== null) (at as Record<string, unknown>)[path.at(-1) ?? ''] = value;
  return copy;
}

test('the objects that are spoiled here are sound', async () => {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { exitCode, notes } = await planManifests(list, { catalog });
  expect({ exitCode, notes }).toEqual({ exitCode: 0, notes: [] });
});

test('junk anywhere in the input is planned around or refused with its place, and never breaks the command', async () => {
  const spoiling = fc.array(fc.tuple(fc.constantFrom(...places), fc.constantFrom(...junk)), {
    minLength: 1,
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(spoiling, async (changes) => {
      const items = changes.reduce((base: unknown, [path, value]) => spoiled(base, path, value), objects);
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      const outcome = await planManifests(list, { catalog }).catch((error: unknown) => error);
      if (outcome instanceof WrongInputError) {
        for (const { origin, fix } of outcome.problems) expect([origin, fix]).not.toContain('');
      } else
        expect(outcome).toMatchObject({ exitCode: expect.toSatisfy((code) => code === 0 || code === 1) as number });
    }),
    { numRuns: drawsOf(300) },
  );
});
