import { annotation } from '../../../contract/names.ts';
import { openBreakers, readFailures, renderFailures, STOPPED_MS } from '../../../core/disruption/brakes/breaker.ts';
import type { Brake } from '../../../core/model/disruption-input.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import { conditionOf, type ConditionChange } from '../../facts/conditions.ts';
import { publish } from '../../tell/events.ts';
import type { Gathered } from '../../gather/gather.ts';
import { alone } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';
import { eventAboutPool } from '../../tell/event-about.ts';
import { tellCondition } from './pool-condition.ts';

/** What a NodePool shows while its breaker is open, and after it has closed again. */
const TYPE = 'DisruptionHealthy';

/**
 * Notes on the pools that a step of theirs has failed, once per decision. On the newest pool: a note that another wrote
 * at the same time is not lost, but this one is.
 */
export async function noteFailure(ports: Ports, pools: Iterable<string>, decision: string): Promise<void> {
  for (const name of new Set(pools)) {
    // One pool, as a rule.
    const pool = await ports.kubernetes.get('NodePool', { name, namespace: null });
    if (pool === null) continue;
    const known = readFailures(pool);
    if (known.some((one) => one.decision === decision)) continue;
    const text = renderFailures(known, { decision, atMs: ports.now() });
    const { resourceVersion } = pool.metadata;
    const patch = { metadata: { resourceVersion, annotations: { [annotation.disruptionFailures]: text } } };
    const outcome = await ports.kubernetes.patch('NodePool', { name, namespace: null }, patch);
    if (outcome.kind !== 'written') ports.log('disruption-failure-lost', { nodePool: name, decision });
  }
}

/**
 * Tells on the pools which breakers have opened and closed since the last look: condition, event and log. What was told
 * is in the condition; nothing is written while nothing changes, nor ever on a pool that had no trouble.
 */
export async function tellBreakers(ports: Ports, { input: { cluster } }: Gathered): Promise<void> {
  const open = openBreakers(cluster, ports.now());
  for (const pool of cluster.nodePools) {
    const brake = open.get(pool.metadata.name);
    const change = conditionFor(brake);
    const known = conditionOf(pool.status?.conditions, TYPE);
    const isTold =
      known === undefined ? brake === undefined : known.status === change.status && known.message === change.message;
    // Pools with news are rare. What cannot be told now is told by the next look, and keeps no other waiting.
    if (!isTold) await alone(() => tell(ports, pool, change));
  }
}

function conditionFor(brake: Brake | undefined): ConditionChange {
  if (brake?.kind !== 'breaker') return { type: TYPE, status: 'True', reason: TYPE, message: '' };
  const then = brake.until === null ? 'until this clears' : `until ${brake.until}`;
  const message = `${brake.why}: voluntary disruption is paused ${then}`;
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
    ? eventAboutPool(fresh, 'Warning', 'DisruptionBlocked', `Disruption paused: ${change.message}`)
    : eventAboutPool(fresh, 'Normal', 'DisruptionUnblocked', 'Voluntary disruption resumed');
  const dedupe = { key: change.message, periodMs: STOPPED_MS };
  await publish(ports.kubernetes, { ...note, dedupe }, ports.now());
}
