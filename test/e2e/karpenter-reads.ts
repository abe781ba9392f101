import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import type { Definition } from './state.ts';
import type { World } from './world.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election';

/** The relay's metrics as Prometheus text. */
export async function readMetrics(world: World): Promise<string> {
  const answer = await fetch(`${world.sandbox.relayMetricsUrl}/metrics`);
  return answer.text();
}

/** The sum of a metric's values whose labels contain `labels`; 0 when there are none. */
export function sumOf(text: string, metric: string, labels = ''): number {
  return text
    .split('\n')
    .filter((line) => (line.startsWith(`${metric} `) || line.startsWith(`${metric}{`)) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Whether a collection can be listed. Right after its definition the API server says 429 of a kind: its storage is not ready yet. */
export async function isListed(world: World, path: string): Promise<boolean> {
  const answer = await world.api.get<object>(path).catch((error: unknown) => error);
  if (answer instanceof Error && !isApiError(answer, 429)) throw answer;
  return !(answer instanceof Error);
}

/** Who leads; null while nobody does. */
export async function readLease(world: World): Promise<string | null> {
  const lease = await world.api
    .get<{ readonly spec: { readonly holderIdentity?: string } }>(LEASE)
    .catch((error: unknown) => {
      if (isApiError(error, 404)) return null;
      throw error;
    });
  return lease?.spec.holderIdentity ?? null;
}

/** The hash annotations of pools or claims, empty where they are missing. */
export async function hashes(
  world: World,
  path: string,
): Promise<ReadonlyArray<{ readonly name: string; readonly hash: string; readonly version: string }>> {
  const { items } = await world.api.get<{ readonly items: ReadonlyArray<Definition> }>(path);
  return items.map(({ metadata: { name, annotations = {} } }) => ({
    name,
    hash: annotations['karpenter.sh/nodepool-hash'] ?? '',
    version: annotations['karpenter.sh/nodepool-hash-version'] ?? '',
  }));
}
