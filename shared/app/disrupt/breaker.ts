import { annotation, label } from '../../contract/names.ts';
import type { Cluster } from '../../core/model/cluster.ts';
import type { Brake } from '../../core/model/disruption-input.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import { conditionOf, isTrue, toTimestamp, type ConditionChange } from '../conditions.ts';
import { publish } from '../events.ts';
import type { Gathered } from '../gather.ts';
import type { Ports } from '../ports.ts';
import { eventAboutPool } from './event-about.ts';
import { tellCondition } from './pool-condition.ts';

/** So many steps of a pool whose replacements fail within `WITHIN_MS` stop it for `STOPPED_MS` after the last. */
const FAILURES_MAX = 3;
const WITHIN_MS = 3_600_000;
const STOPPED_MS = 3_600_000;

/** More nodes of a pool that are not ready than this share, rounded up, stop it while they are: Karpenter's brake on node repair. */
const MOST_UNHEALTHY = 0.2;

/** What a NodePool shows while its breaker is open, and after it has closed again. */
const TYPE = 'DisruptionHealthy';

interface Failure {
  readonly decision: string;
  readonly atMs: number;
}

/** The pools whose nodes stay for a while because disruption does not go well, by name. */
export function openBreakers(
  { nodePools, nodes, nodeClaims }: Pick<Cluster, 'nodePools' | 'nodes' | 'nodeClaims'>,
  nowMs: number,
): ReadonlyMap<string, Brake> {
  const byPool = Map.groupBy(settled({ nodes, nodeClaims }), ({ metadata }) => metadata.labels?.[label.nodePool] ?? '');
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
    nodeClaims
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ status }) => status?.providerID?.toLowerCase()),
  );
  return nodes.filter(
    ({ metadata, spec }) =>
      metadata.labels?.[label.initialized] === 'true' &&
      metadata.deletionTimestamp === undefined &&
      !leaving.has(spec?.providerID?.toLowerCase()),
  );
}

function unhealthy(nodes: Cluster['nodes']): Brake | null {
  const sick = nodes.filter(({ status }) => !isTrue(status?.conditions, 'Ready')).length;
  if (sick <= Math.ceil(nodes.length * MOST_UNHEALTHY)) return null;
  return { kind: 'breaker', until: null, why: `${sick} of its ${nodes.length} nodes are not ready` };
}

function failing(pool: NodePool, nowMs: number): Brake | null {
  const failures = readFailures(pool).filter(({ atMs }) => atMs <= nowMs);
  const [first, last] = [failures.at(-FAILURES_MAX), failures.at(-1)];
  if (failures.length < FAILURES_MAX || first === undefined || last === undefined) return null;
  const untilMs = last.atMs + STOPPED_MS;
  if (last.atMs - first.atMs > WITHIN_MS || nowMs >= untilMs) return null;
  return {
    kind: 'breaker',
    until: toTimestamp(untilMs),
    why: `replacements of ${FAILURES_MAX} steps failed within an hour`,
  };
}

/** What is no failure is left out: whoever clears the annotation closes the breaker. */
function readFailures({ metadata }: NodePool): ReadonlyArray<Failure> {
  const text = metadata.annotations?.[annotation.disruptionFailures] ?? '';
  return text.split(',').flatMap((one) => {
    const [decision = '', at = ''] = one.split('=');
    const atMs = Date.parse(at);
    return Number.isNaN(atMs) ? [] : [{ decision, atMs }];
  });
}

/**
 * Notes on the pools that a step of theirs has failed, once per decision. On the newest pool: a note that another wrote at the same
 * time is not lost, but this one is.
 */
export async function noteFailure(ports: Ports, pools: Iterable<string>, decision: string): Promise<void> {
  for (const name of new Set(pools)) {
    // One pool, as a rule.
    // oxlint-disable-next-line no-await-in-loop
    const pool = await ports.kubernetes.get('NodePool', { name, namespace: null });
    if (pool === null) continue;
    const known = readFailures(pool);
    if (known.some((one) => one.decision === decision)) continue;
    const kept = [...known, { decision, atMs: ports.now() }].slice(-FAILURES_MAX);
    const text = kept.map((one) => `${one.decision}=${toTimestamp(one.atMs)}`).join(',');
    const { resourceVersion } = pool.metadata;
    const patch = { metadata: { resourceVersion, annotations: { [annotation.disruptionFailures]: text } } };
    // oxlint-disable-next-line no-await-in-loop
    const outcome = await ports.kubernetes.patch('NodePool', { name, namespace: null }, patch);
    if (outcome.kind !== 'written') ports.log('disruption-failure-lost', { nodePool: name, decision });
  }
}

/**
 * Tells on the pools which breakers have opened and closed since the last look: condition, event and log. What was told is in the
 * condition; nothing is written while nothing changes, nor ever on a pool that had no trouble.
 */
export async function tellBreakers(ports: Ports, { input: { cluster } }: Gathered): Promise<void> {
  const open = openBreakers(cluster, ports.now());
  for (const pool of cluster.nodePools) {
    const brake = open.get(pool.metadata.name);
    const change = conditionFor(brake);
    const known = conditionOf(pool.status?.conditions, TYPE);
    const isTold =
      known === undefined ? brake === undefined : known.status === change.status && known.message === change.message;
    // Pools with news are rare.
    // oxlint-disable-next-line no-await-in-loop
    if (!isTold) await tell(ports, pool, change);
  }
}

function conditionFor(brake: Brake | undefined): ConditionChange {
  if (brake?.kind !== 'breaker') return { type: TYPE, status: 'True', reason: TYPE, message: '' };
  const then = brake.until === null ? 'while that is so' : `until ${brake.until}`;
  const message = `${brake.why}: its nodes are not removed of our own choice ${then}`;
  return { type: TYPE, status: 'False', reason: 'BreakerTripped', message };
}

async function tell(ports: Ports, { metadata }: NodePool, change: ConditionChange): Promise<void> {
  const told = await tellCondition(ports, { metadata }, change);
  const isOpen = change.status === 'False';
  // What only changes its words is no news.
  if (told === null || (told.before?.status === 'False') === isOpen) return;
  const fresh = told.pool;
  ports.log(isOpen ? 'breaker-tripped' : 'breaker-closed', { nodePool: metadata.name, why: change.message });
  const note = isOpen
    ? eventAboutPool(fresh, 'Warning', 'DisruptionBlocked', `Voluntary disruption stops: ${change.message}`)
    : eventAboutPool(fresh, 'Normal', 'DisruptionUnblocked', 'Voluntary disruption goes on');
  const dedupe = { key: change.message, periodMs: STOPPED_MS };
  await publish(ports.kubernetes, { ...note, dedupe }, ports.now());
}
