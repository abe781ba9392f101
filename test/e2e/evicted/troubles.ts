import { BlobServiceClient, BlobLeaseClient } from '@azure/storage-blob';
import { container, generationLease } from '../../../shared/contract/names.ts';
import type { KubernetesObject } from '../../../sandbox/kubernetes/client/objects.ts';
import type { World } from '../kit/world.ts';

/** A lease of a blob lasts so long at most, in seconds, but for one without an end. */
const LOCKED_SECONDS = 60;

/** Requests that a throttled Azure refuses: more than anybody sends. */
const ALL = 1_000_000;

/** From now until `azure.heal`, Azure answers every request with 429 and asks to wait for a minute. */
export function throttleAzure({ sandbox }: World): void {
  const fault = { kind: 'throttle', code: null, retryAfterSeconds: 60 } as const;
  sandbox.azure.orderFault({ method: null, pathContains: '/subscriptions/', times: ALL, fault });
}

/**
 * For a minute nobody can write what all instances remember of Azure: refused offerings, evictions, what was learned.
 * Answers which blobs.
 */
export async function lockCatalog({ sandbox }: World): Promise<ReadonlyArray<string>> {
  const blobs = BlobServiceClient.fromConnectionString(sandbox.storageConnection).getContainerClient(container.catalog);
  const locked: Array<string> = [];
  for await (const { name } of blobs.listBlobsFlat()) {
    await new BlobLeaseClient(blobs.getBlobClient(name)).acquireLease(LOCKED_SECONDS);
    locked.push(name);
  }
  return locked;
}

interface GenerationLease extends KubernetesObject {
  readonly spec: { readonly leaseTransitions?: number };
}

/** The latest decision looks as if its executor were at it, and that one is dead: nobody hears of it again. */
export async function holdLease({ api }: World): Promise<void> {
  const path = '/apis/coordination.k8s.io/v1/leases';
  const { items } = await api.get<{ readonly items: ReadonlyArray<GenerationLease> }>(path);
  const lease = items.find(({ metadata }) => metadata.name === generationLease);
  if (lease === undefined) throw new Error('nobody has decided yet');
  const { namespace = 'default', resourceVersion } = lease.metadata;
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  await api.patch(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${generationLease}`, 'merge', {
    metadata: { resourceVersion },
    spec: { leaseTransitions: (lease.spec.leaseTransitions ?? 0) + 1, renewTime },
  });
}
