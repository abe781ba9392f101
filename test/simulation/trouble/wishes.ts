import { annotation } from '../../../shared/contract/names.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import { keyOf, matches, type ApiServer, type Fields, type Stored } from '../world/api-server.ts';
import type { Wishes } from '../world/faults.ts';

/** On a workload whose pods are protected for good. */
const FOR_GOOD = 'simulation/for-good';

/** What people ask for in a run, by a source of its own for each workload. */
export interface Wished {
  readonly wishes: Wishes;
  readonly rng: Rng;
}

/** What keeps a workload's pods where they are. */
export interface Protection {
  /** On the ReplicaSet. */
  readonly own: Readonly<Record<string, string>>;
  /** On its pods. */
  readonly pods: Readonly<Record<string, string>>;
  readonly isBudgetClosed: boolean;
}

/** How the pods of a workload that is about to come are protected. */
export function drawProtection({ wishes, rng }: Wished, name: string): Protection {
  const draws = rng.split(`protection of ${name}`);
  const isAnnotated = draws.chance(wishes.protectedPods);
  const isBudgetClosed = draws.chance(wishes.closedBudgets);
  const stays = draws.chance(wishes.forGood);
  return {
    own: stays && (isAnnotated || isBudgetClosed) ? { [FOR_GOOD]: 'true' } : {},
    pods: isAnnotated ? { [annotation.doNotDisrupt]: 'true' } : {},
    isBudgetClosed,
  };
}

/** Does nothing let the pod go, as long as its node has no deadline? */
export function isProtected(server: ApiServer, pod: Stored): boolean {
  if (pod.metadata.annotations?.[annotation.doNotDisrupt] === 'true') return true;
  const budgets = server.list('poddisruptionbudgets').filter(({ spec }) => spec?.['maxUnavailable'] === 0);
  return budgets.some(({ spec }) => matches(pod, spec?.['selector']?.matchLabels ?? {}));
}

/** The claims whose nodes hold pods that are protected for good: they may stay as they are, while they are there. */
export function keptClaims(server: ApiServer): ReadonlySet<string> {
  const sets = server.list('replicasets').filter(isForGood);
  const uids = new Set(sets.map(({ metadata }) => metadata.uid));
  const pods = server.list('pods').filter(({ metadata }) => uids.has(metadata.ownerReferences?.[0]?.uid ?? ''));
  const names = pods.flatMap(({ spec }) => (spec?.['nodeName'] === undefined ? [] : [claimOf(spec)]));
  return new Set(names.filter((name) => server.get('nodeclaims', name) !== null));
}

/** People take off what protects pods, but what is there for good; and nodes live for ever. */
export function mendWishes(server: ApiServer): void {
  for (const pool of server.list('nodepools')) {
    if (pool.spec?.['template']?.spec?.expireAfter === 'Never') continue;
    server.patch('nodepools', pool.metadata.name, { spec: { template: { spec: { expireAfter: 'Never' } } } }, 'object');
  }
  for (const set of server.list('replicasets')) if (!isForGood(set)) unprotect(server, set);
}

function unprotect(server: ApiServer, set: Stored): void {
  const annotations = { [annotation.doNotDisrupt]: null };
  const key = keyOf(set.metadata);
  server.patch('replicasets', key, { spec: { template: { metadata: { annotations } } } }, 'object');
  if (server.get('poddisruptionbudgets', key)?.spec?.['maxUnavailable'] !== undefined) {
    server.patch('poddisruptionbudgets', key, { spec: { maxUnavailable: null, minAvailable: 0 } }, 'object');
  }
  const own = server
    .list('pods')
    .filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === set.metadata.uid)
    .filter(({ metadata }) => metadata.annotations?.[annotation.doNotDisrupt] !== undefined);
  for (const pod of own) server.patch('pods', keyOf(pod.metadata), { metadata: { annotations } }, 'object');
}

function isForGood({ metadata }: Stored): boolean {
  return metadata.annotations?.[FOR_GOOD] === 'true';
}

function claimOf(spec: Fields): string {
  return String(spec['nodeName']).replace(/^aks-/, '');
}
