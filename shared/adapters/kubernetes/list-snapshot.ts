import { apiGroups } from '../../contract/snapshot/api-groups.ts';
import { createSnapshotBuilder, snapshotResources, type FedResource } from '../../contract/snapshot/builder.ts';
import { type Snapshot, parseSnapshot } from '../../contract/snapshot/parse.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Transport } from './transport.ts';

const PAGE = 500;
/** 1,000 pages of 500: three times the cluster we are sized for. */
const PAGES_MAX = 1_000;

/**
 * Reads the cluster from the API server itself and builds the image that the relay would publish, with the same code.
 * For when no relay can run: a cluster without nodes has none. `buffers`: CapacityBuffers and what they refer to, too.
 */
export async function listSnapshot(
  transport: Transport,
  cluster: string,
  nowMs: number,
  reads: { readonly buffers: boolean },
): Promise<Snapshot> {
  const builder = createSnapshotBuilder(cluster, reads);
  await Promise.all(
    snapshotResources(reads).map(async (resource) => {
      let next = '';
      for (let page = 0; page < PAGES_MAX; page++) {
        const query = `limit=${PAGE}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
        // Each page names the next.
        const answer = await transport({ method: 'GET', path: `${apiGroups[resource]}/${resource}?${query}` });
        // The kind is not installed, which is an empty list to us, where the API server says that too.
        if (answer.status === 404 && page === 0 && !(await isInstalled(transport, resource))) return;
        if (answer.status >= 400) throw new RetryableError(`listing ${resource}: ${answer.status}`);
        const body = answer.body as ListPage;
        for (const item of body.items ?? []) builder.upsert(resource, item);
        next = body.metadata?.continue ?? '';
        if (next === '') {
          builder.setResourceVersion(resource, body.metadata?.resourceVersion ?? '');
          return;
        }
      }
      throw new RetryableError(`listing ${resource}: more than ${PAGES_MAX} pages`);
    }),
  );
  // Through the wire format, so that both sources give the same value.
  return parseSnapshot(builder.encode({ version: `listed-${nowMs}`, takenAtMs: nowMs, source: 'sweep' }));
}

/** Groups that every cluster has: whoever does not find them has not met the whole API server. */
const ALWAYS_THERE: ReadonlySet<string> = new Set([
  '/api/v1',
  '/apis/apps/v1',
  '/apis/batch/v1',
  '/apis/policy/v1',
  '/apis/storage.k8s.io/v1',
]);

/**
 * Does the API server serve the resource, as its discovery has it? An API server that starts, or a proxy before it, may
 * answer 404 to a list of what is there: a cluster without its NodeOverlays or CapacityBuffers would be another one.
 */
async function isInstalled(transport: Transport, resource: FedResource): Promise<boolean> {
  const group = apiGroups[resource];
  if (ALWAYS_THERE.has(group)) return true;
  const { status, body } = await transport({ method: 'GET', path: group });
  if (status === 404) return isServed(transport, group);
  if (status >= 400) return true;
  const { resources } = (body ?? {}) as { readonly resources?: ReadonlyArray<{ readonly name?: string }> };
  return !Array.isArray(resources) || resources.some(({ name }) => name === resource);
}

/** Is the group and version among those that the API server has? The list of them is there as soon as the server is. */
async function isServed(transport: Transport, path: string): Promise<boolean> {
  const { status, body } = await transport({ method: 'GET', path: '/apis' });
  const { groups } = (body ?? {}) as { readonly groups?: ReadonlyArray<ApiGroup> };
  if (status >= 400 || !Array.isArray(groups)) return true;
  return groups.some(({ versions = [] }: ApiGroup) =>
    versions.some(({ groupVersion }) => `/apis/${groupVersion}` === path),
  );
}

interface ApiGroup {
  readonly versions?: ReadonlyArray<{ readonly groupVersion?: string }>;
}

interface ListPage {
  readonly items?: ReadonlyArray<object>;
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
}
