import { text } from 'node:stream/consumers';
import { isApiError } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Definition } from './state.ts';
import type { World } from './world.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election';

const PODS = '/api/v1/namespaces/kube-system/pods';

/** The parts of a relay's Pod that these tests read. */
export interface RelayPod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: ReadonlyArray<{
      readonly ports?: ReadonlyArray<{ readonly name?: string; readonly containerPort: number }>;
    }>;
  };
  readonly status: Definition['status'] & {
    readonly phase: string;
    readonly podIP: string;
    readonly containerStatuses: ReadonlyArray<{ readonly restartCount: number }>;
  };
}

/** The pods that Karpenter's suites take for Karpenter's. */
export async function listRelayPods(world: World): Promise<ReadonlyArray<RelayPod>> {
  const selector = encodeURIComponent('app.kubernetes.io/name=karpenter,app.kubernetes.io/instance=karpenter');
  const { items } = await world.api.get<{ readonly items: ReadonlyArray<RelayPod> }>(
    `/api/v1/pods?labelSelector=${selector}`,
  );
  return items;
}

/** The Pod of who leads, as clients find it: by what stands before the underscore in the Lease's holder. */
export async function readLeader(world: World): Promise<RelayPod> {
  const [name = ''] = ((await readLease(world)) ?? '').split('_');
  return world.api.get<RelayPod>(`${PODS}/${name}`);
}

/** The port of a Pod's metrics, by the name that Karpenter's chart gives it. */
export function metricsPortOf({ spec }: RelayPod): number {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  return ports.find(({ name }) => name === 'http-metrics')?.containerPort ?? 0;
}

/** Whether the API server's proxy can reach the relays: not on a machine that has no address but loopback. */
export function isReachable({ status }: RelayPod): boolean {
  return status.podIP !== '127.0.0.1';
}

/** What a page of a Pod says, read through the API server. */
export async function readThroughProxy(world: World, pod: RelayPod, page: string): Promise<string> {
  const path = `${PODS}/${pod.metadata.name}:${metricsPortOf(pod)}/proxy/${page}`;
  return text(await world.api.stream(path));
}

/** The leader's metrics as Prometheus text, read as a client of the cluster does wherever that can be. */
export async function readMetrics(world: World): Promise<string> {
  const leader = await readLeader(world);
  if (isReachable(leader)) return readThroughProxy(world, leader, 'metrics');
  return (await fetch(`http://127.0.0.1:${metricsPortOf(leader)}/metrics`)).text();
}

/** The sum of a metric's values whose labels contain `labels`; 0 when there are none. */
export function sumOf(metrics: string, metric: string, labels = ''): number {
  return metrics
    .split('\n')
    .filter((line) => (line.startsWith(`${metric} `) || line.startsWith(`${metric}{`)) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/**
 * Whether a collection can be listed. Right after its definition the API server says 429 of a kind: its storage is not
 * ready yet.
 */
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
