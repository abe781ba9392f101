import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Rollout } from '../../model/disruption-input.ts';
import { machinesOf } from '../../present/existing-capacity.ts';
import { conditionIn, createdMs, says } from '../candidates/claim-conditions.ts';
import { parsePast } from '../../quantity/told-time.ts';
import { rollouts, sidesOf, type Sides } from './rollouts.ts';

/** A kubelet that misses a heartbeat or two is not sick. */
const SICK_AFTER_MS = 60_000;

/** From its creation a machine has fifteen minutes to register. Drivers that are installed then take up to ten. */
export const STARTED_MS: number = 30 * 60_000;

/**
 * A NodePool whose new image or Kubernetes version does worse than what was there, and nobody has written that down
 * yet.
 */
export interface Worse {
  readonly nodePool: string;
  readonly why: string;
}

/** The pools whose new nodes do worse than the old ones, as far as nodes and claims show it. */
export function worseThanBefore(cluster: Cluster, nowMs: number): ReadonlyArray<Worse> {
  const known = rollouts(cluster, nowMs);
  const nodeOf = new Map(machinesOf(cluster).map(({ claim, node }) => [claim, node]));
  return cluster.nodePools.flatMap((pool): ReadonlyArray<Worse> => {
    const nodePool = pool.metadata.name;
    const sides = sidesOf(pool, cluster.nodeClaims);
    if (sides === null || known.get(nodePool)?.kind === 'halted') return [];
    const why = whySick(sides, (claim) => nodeOf.get(claim) ?? null, nowMs) ?? whyNotStarted(sides, nowMs);
    return why === null ? [] : [{ nodePool, why }];
  });
}

/** What nodes behind a new image or Kubernetes version wait for: what is written, and what nodes and claims show. */
export function rolloutsNow(cluster: Cluster, nowMs: number): ReadonlyMap<string, Rollout> {
  const halted = worseThanBefore(cluster, nowMs).map(({ nodePool, why }) => {
    return [nodePool, { kind: 'halted', why }] as const;
  });
  return new Map<string, Rollout>([...rollouts(cluster, nowMs), ...halted]);
}

/** A larger share of the new nodes than of the old ones is not ready. */
function whySick({ behind, fresh }: Sides, nodeOf: (claim: NodeClaim) => Node | null, nowMs: number): string | null {
  const started = (claims: ReadonlyArray<NodeClaim>): ReadonlyArray<Node> =>
    claims.filter((claim) => says(claim, 'Initialized')).flatMap((claim) => nodeOf(claim) ?? []);
  const isSick = ({ status }: Node): boolean => {
    const ready = conditionIn(status?.conditions, 'Ready');
    return ready?.status !== 'True' && nowMs - (parsePast(ready?.lastTransitionTime, nowMs) ?? 0) >= SICK_AFTER_MS;
  };
  const [now, before] = [started(fresh), started(behind)];
  const [sick, sickBefore] = [now.filter(isSick), before.filter(isSick).length];
  const [first] = sick;
  if (first === undefined || sick.length * before.length <= sickBefore * now.length) return null;
  return (
    `${sick.length} of ${now.length} new nodes are not ready, ${first.metadata.name} among them, and ` +
    `${sickBefore} of ${before.length} old ones`
  );
}

/**
 * None of the new nodes is in use, and one of them should be by now: what it waits for, a startup taint or a device,
 * may never come. A machine that Azure has not given says nothing.
 */
function whyNotStarted({ fresh }: Sides, nowMs: number): string | null {
  if (fresh.some((claim) => says(claim, 'Initialized'))) return null;
  const late = fresh.find((claim) => says(claim, 'Launched') && nowMs >= createdMs(claim) + STARTED_MS);
  if (late === undefined) return null;
  const { message = '' } = conditionIn(late.status?.conditions, 'Initialized') ?? {};
  return `NodeClaim ${late.metadata.name} is not initialized after 30 minutes${message === '' ? '' : `: ${message}`}`;
}
