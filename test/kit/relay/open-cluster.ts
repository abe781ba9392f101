import { createClusterIndex } from '../../../relay/watch/cluster-index.ts';
import { hintsOf, hintsOnStart, urgencyOf, type Hint } from '../../../relay/hint/hints.ts';
import {
  createSnapshotBuilder,
  type SnapshotChange,
  type SnapshotResource,
} from '../../../shared/contract/snapshot/builder.ts';

/** A cluster that is changed step by step, each step answered with its hints, one line each by `render`. */
export function openCluster(render: (hint: Hint) => string) {
  const builder = createSnapshotBuilder('test', { buffers: true });
  const index = createClusterIndex(builder);
  const take = (change: SnapshotChange): ReadonlyArray<string> => {
    index.apply(change, 0);
    return hintsOf(change, index.view).map(render);
  };
  return {
    put: (resource: SnapshotResource, raw: unknown) => take(builder.upsert(resource, raw)),
    remove: (resource: SnapshotResource, key: string) => take(builder.remove(resource, key)),
    urgency: (resource: SnapshotResource, raw: unknown) => urgencyOf(builder.upsert(resource, raw)),
    onStart: () => hintsOnStart((resource) => builder.objects(resource), index.view).map(render),
  };
}
