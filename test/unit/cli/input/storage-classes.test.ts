import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool } from '../../../kit/cli/plan-manifests.ts';

const storageClass = (name: string, more = 'provisioner: disk.csi.azure.com', meta = ''): string =>
  `{ apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: { name: ${name}${meta} }, ${more} }`;

/** A claim of a class (of the default for null), and a pod with its volume. */
function claimed(name: string, className: string | null, meta = ''): string {
  const spec = className === null ? '{}' : `{ storageClassName: ${JSON.stringify(className)} }`;
  return `{ apiVersion: v1, kind: PersistentVolumeClaim, metadata: { name: ${name}${meta} }, spec: ${spec} }
---
{ apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { volumes: [{ name: data, persistentVolumeClaim: { claimName: ${name} } }],
  containers: [{ name: main, image: x, resources: { requests: { cpu: 500m, memory: 512Mi } } }] } }`;
}

const byDefault = ', annotations: { storageclass.kubernetes.io/is-default-class: "true" }';
const WAITING = 'provisioner: disk.csi.azure.com, volumeBindingMode: WaitForFirstConsumer';

describe('storage classes of a plan without a cluster', () => {
  test('are those of AKS beside those that are given', async () => {
    const plan = await planDocument([
      pool,
      storageClass('own', WAITING),
      claimed('a', 'own'),
      claimed('b', 'managed-csi'),
      claimed('c', null),
      claimed('d', 'azureblob-nfs-premium'),
    ]);
    expect(placedPods(plan)).toEqual(['default/a', 'default/b', 'default/c', 'default/d']);
    expect(plan.notes).toEqual(['beside the StorageClasses that are given, those of AKS are assumed']);
  });

  test('are not told of where nothing asks for one that is assumed', async () => {
    expect((await planDocument([pool, storageClass('own', WAITING), claimed('a', 'own')])).notes).toEqual([]);
  });

  test('of a name that AKS has are as they are given', async () => {
    const zones =
      'allowedTopologies: [{ matchLabelExpressions: [{ key: topology.kubernetes.io/zone, values: [westeurope-2] }] }]';
    const plan = await planDocument([
      pool,
      storageClass('managed-csi', `${WAITING}, ${zones}`),
      claimed('a', 'managed-csi'),
    ]);
    expect(plan.nodeClaims.map(({ zone }) => zone)).toEqual(['westeurope-2']);
  });

  test('have one default: the one that is given before AKS’s', async () => {
    const zones =
      'allowedTopologies: [{ matchLabelExpressions: [{ key: topology.kubernetes.io/zone, values: [westeurope-3] }] }]';
    const plan = await planDocument([pool, storageClass('own', `${WAITING}, ${zones}`, byDefault), claimed('a', null)]);
    expect(plan.nodeClaims.map(({ zone }) => zone)).toEqual(['westeurope-3']);
  });

  test('that bind at once do not keep their pods waiting for what nothing makes, and this is told', async () => {
    const plan = await planDocument([pool, storageClass('eager'), storageClass('unused'), claimed('a', 'eager')]);
    expect(placedPods(plan)).toEqual(['default/a']);
    expect(plan.notes).toEqual([
      'standard input, document 3: StorageClass eager binds at once: its volumes are taken to be where their pods are planned. A cluster makes them before, in a zone that the pods then have to go to (volumeBindingMode: WaitForFirstConsumer makes them where the pods go)',
    ]);
  });

  test.each([
    ['shares of files', 'provisioner: file.csi.azure.com'],
    ['blobs', 'provisioner: blob.csi.azure.com'],
    ['disks of several zones', 'provisioner: disk.csi.azure.com, parameters: { skuName: Premium_ZRS }'],
  ])('for %s have no zone, and nothing is to be told where they bind at once', async (_, more) => {
    const plan = await planDocument([pool, storageClass('eager', more), claimed('a', 'eager')]);
    expect(placedPods(plan)).toEqual(['default/a']);
    expect(plan.notes).toEqual([]);
  });

  test('that were read from a cluster and bind at once are waited for, as there', async () => {
    const plan = await planDocument([
      pool,
      storageClass('eager', 'provisioner: disk.csi.azure.com', ', uid: u'),
      claimed('a', 'eager'),
    ]);
    expect(plan.left.map(({ reasons }) => reasons.map(({ kind }) => kind))).toEqual([['volume-not-bound']]);
  });

  test.each([
    ['fast', 'the volume claim default/a names the storage class fast, which does not exist'],
    ['', 'the volume claim default/a asks for a volume without storage class, and names none'],
  ])('that a claim names and that are not there (%j) are named', async (name, detail) => {
    const plan = await planDocument([pool, claimed('a', name)]);
    expect(plan.left[0]?.reasons).toMatchObject([{ kind: 'storage-class-missing', storageClass: name, detail }]);
  });
});
