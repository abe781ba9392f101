import { apiGroups } from '../../contract/snapshot/api-groups.ts';
import { createSnapshotBuilder, snapshotResources } from '../../contract/snapshot/builder.ts';
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
        // oxlint-disable-next-line no-await-in-loop
        const answer = await transport({ method: 'GET', path: `${apiGroups[resource]}/${resource}?${query}` });
        // The kind is not installed, which is an empty list to us; unless it was a page ago.
        if (answer.status === 404 && page === 0) return;
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

interface ListPage {
  readonly items?: ReadonlyArray<object>;
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
}
