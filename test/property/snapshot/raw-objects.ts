import fc from 'fast-check';
import type { SnapshotResource } from '../../../shared/contract/snapshot/builder.ts';

/** A raw object as list and watch give it, and the resource it is of. */
export interface RawObject {
  readonly resource: SnapshotResource;
  readonly raw: { readonly metadata: { readonly name: string; readonly namespace?: string } };
}

const digits = (seed: number): string => seed.toString(16).padStart(12, '0');

/** A UID made from a number. */
export function uidOf(seed: number): string {
  return `00000000-0000-4000-8000-${digits(seed)}`;
}

const created = fc
  .integer({ min: 0, max: 30 })
  .map((second) => new Date(1_790_000_000_000 + second * 1_000).toISOString());

/** Raw pods drawn from small pools, so that they collide in names, shapes and nodes. */
export const rawPod: fc.Arbitrary<RawObject> = fc
  .record({
    name: fc.integer({ min: 0, max: 20 }),
    namespace: fc.constantFrom('a', 'b'),
    app: fc.constantFrom('web', 'db', 'cache'),
    cpu: fc.constantFrom('100m', '1', '2'),
    owner: fc.constantFrom('ReplicaSet', 'DaemonSet', 'StatefulSet', null),
    node: fc.constantFrom('node-1', 'node-2', null),
    nominated: fc.constantFrom('node-2', null),
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
    unschedulable: fc.boolean(),
    deleting: fc.boolean(),
    gated: fc.boolean(),
    oddUid: fc.boolean(),
    created,
  })
  .map((draw) => ({
    resource: 'pods' as const,
    raw: {
      metadata: {
        name: `pod-${draw.name}`,
        namespace: draw.namespace,
        uid: draw.oddUid ? `static-${draw.name}` : uidOf(draw.name),
        labels: { app: draw.app },
        annotations: { 'example.com/noise': String(draw.name) },
        creationTimestamp: draw.created,
        resourceVersion: String(draw.name),
        ...(draw.deleting ? { deletionTimestamp: draw.created } : {}),
        ...(draw.owner === null
          ? {}
          : {
              ownerReferences: [
                { apiVersion: 'apps/v1', kind: draw.owner, name: draw.app, uid: uidOf(7), controller: true },
              ],
            }),
      },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'example.com/image',
            resources: { requests: { cpu: draw.cpu } },
            env: [{ name: 'A' }],
          },
        ],
        ...(draw.node === null ? {} : { nodeName: draw.node }),
        ...(draw.gated ? { schedulingGates: [{ name: 'example.com/gate' }] } : {}),
      },
      status: {
        phase: draw.phase,
        ...(draw.nominated === null ? {} : { nominatedNodeName: draw.nominated }),
        conditions: draw.unschedulable ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] : [],
      },
    },
  }));

const rawNode: fc.Arbitrary<RawObject> = fc
  .record({ name: fc.integer({ min: 0, max: 5 }), ready: fc.boolean(), zone: fc.constantFrom('1', '2') })
  .map((draw) => ({
    resource: 'nodes' as const,
    raw: {
      metadata: { name: `node-${draw.name}`, labels: { 'topology.kubernetes.io/zone': draw.zone } },
      spec: { providerID: `azure:///${draw.name}`, taints: [] },
      status: {
        allocatable: { cpu: '4' },
        conditions: [{ type: 'Ready', status: draw.ready ? 'True' : 'False', lastHeartbeatTime: 'whenever' }],
      },
    },
  }));

const rawClaim: fc.Arbitrary<RawObject> = fc
  .record({ name: fc.integer({ min: 0, max: 5 }), cpu: fc.constantFrom('1', '2') })
  .map((draw) => ({
    resource: 'nodeclaims' as const,
    raw: {
      metadata: { name: `claim-${draw.name}` },
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
        resources: { requests: { cpu: draw.cpu } },
      },
    },
  }));

const rawReplicaSet: fc.Arbitrary<RawObject> = fc
  .record({ name: fc.integer({ min: 0, max: 3 }), replicas: fc.integer({ min: 0, max: 3 }) })
  .map((draw) => ({
    resource: 'replicasets' as const,
    raw: {
      metadata: { name: `set-${draw.name}`, namespace: 'a', uid: uidOf(draw.name) },
      spec: { replicas: draw.replicas },
    },
  }));

/** Raw objects of several kinds. */
export const rawObject: fc.Arbitrary<RawObject> = fc.oneof(
  { weight: 5, arbitrary: rawPod },
  { weight: 2, arbitrary: rawNode },
  { weight: 1, arbitrary: rawClaim },
  { weight: 1, arbitrary: rawReplicaSet },
);
