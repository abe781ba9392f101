import { labelKey } from '../../../kubernetes/labels.ts';
import { markKey } from '../../../kubernetes/marks.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Brake } from '../../model/disruption-input.ts';
import { conditionIn } from '../candidates/claim-conditions.ts';
import { parseTimestamp, renderTimestamp } from '../../quantity/utc-time.ts';

/** So many steps of a pool whose replacements fail within `WITHIN_MS` stop it for `STOPPED_MS` after the last. */
const FAILURES_MAX = 3;
const WITHIN_MS = 3_600_000;
export const STOPPED_MS = 3_600_000;

/**
 * More nodes of a pool that are not ready than this share, rounded up, stop it while they are: Karpenter's brake on
 * node repair.
 */
const MOST_UNHEALTHY = 0.2;

/** A step whose replacements failed. */
export interface Failure {
  readonly decision: string;
  readonly atMs: number;
}

/** The pools whose nodes stay for a while because disruption does not go well, by name. */
export function openBreakers(
  { nodePools, nodes, nodeClaims }: Pick<Cluster, 'nodePools' | 'nodes' | 'nodeClaims'>,
  nowMs: number,
): ReadonlyMap<string, Brake> {
  const byPool = Map.groupBy(
    settled({ nodes, nodeClaims }),
    ({ metadata }) => metadata.labels?.[labelKey.nodePool] ?? '',
  );
  return new Map(
    nodePools.flatMap((pool): ReadonlyArray<readonly [string, Brake]> => {
      const { name } = pool.metadata;
      const brake = failing(pool, nowMs) ?? unhealthy(byPool.get(name) ?? []);
      return brake === null ? [] : [[name, brake]];
    }),
  );
}

/** Nodes that have begun and are not on their way out: what those do says nothing. */
function settled({ nodes, nodeClaims }: Pick<Cluster, 'nodes' | 'nodeClaims'>): Cluster['nodes'] {
  const leaving = new Set(
    nodeClaims.flatMap(({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? [] : (status?.providerID?.toLowerCase() ?? []),
    ),
  );
  return nodes.filter(
    ({ metadata, spec }) =>
      metadata.labels?.[labelKey.initialized] === 'true' &&
      metadata.deletionTimestamp === undefined &&
      !leaving.has(spec?.providerID?.toLowerCase() ?? ''),
  );
}

function unhealthy(nodes: Cluster['nodes']): Brake | null {
  const sick = nodes.filter(({ status }) => conditionIn(status?.conditions, 'Ready')?.status !== 'True').length;
  if (sick <= Math.ceil(nodes.length * MOST_UNHEALTHY)) return null;
  return { kind: 'breaker', until: null, why: `${sick} of its ${nodes.length} nodes are not ready` };
}

function failing(pool: NodePool, nowMs: number): Brake | null {
  const failures = readFailures(pool).filter(({ atMs }) => atMs <= nowMs);
  const [first, last] = [failures.at(-FAILURES_MAX), failures.at(-1)];
  if (first === undefined || last === undefined) return null;
  const untilMs = last.atMs + STOPPED_MS;
  if (last.atMs - first.atMs > WITHIN_MS || nowMs >= untilMs) return null;
  return {
    kind: 'breaker',
    until: renderTimestamp(untilMs),
    why: `replacements of ${FAILURES_MAX} steps failed within an hour`,
  };
}

/** What the pool says. What is no failure is left out: whoever clears the annotation closes the breaker. */
export function readFailures({ metadata }: Pick<NodePool, 'metadata'>): ReadonlyArray<Failure> {
  const text = metadata.annotations?.[markKey.disruptionFailures] ?? '';
  return text.split(',').flatMap((one) => {
    const [decision = '', at = ''] = one.split('=');
    const atMs = parseTimestamp(at);
    return atMs === null ? [] : [{ decision, atMs }];
  });
}

/** What the pool is to say with one failure more: as many as a breaker looks at. */
export function renderFailures(known: ReadonlyArray<Failure>, more: Failure): string {
  return [...known, more]
    .slice(-FAILURES_MAX)
    .map(({ decision, atMs }) => `${decision}=${renderTimestamp(atMs)}`)
    .join(',');
}
