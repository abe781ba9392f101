import { label } from '../../contract/names.ts';
import type { Node, NodeClaim } from '../../core/model/manifest.ts';
import { type ConditionChange, isTrue, toTimestamp } from '../conditions.ts';
import type { Ports } from '../ports.ts';
import { type Consolidatable, judgeConsolidatable, lastPodEvent } from './consolidatable.ts';
import { findDrift } from './drift.ts';
import { type Step, writeStatus } from './node-claim.ts';

/**
 * Keeps what disruption chooses by right on a claim at rest: the conditions `Drifted` and `Consolidatable`, and when a
 * pod last came or went. One write, or none. Acts on nothing: replacing nodes is the disruption's business.
 */
export async function noteDisruptable(
  ports: Ports,
  claim: NodeClaim,
  node: Node,
  podEventMs: number | null,
): Promise<Step> {
  const pool = claim.metadata.labels?.[label.nodePool];
  const [nodePool, nodeClass] = await Promise.all([
    pool === undefined ? null : ports.kubernetes.get('NodePool', { name: pool, namespace: null }),
    ports.kubernetes.get('AKSNodeClass', { name: claim.spec.nodeClassRef.name, namespace: null }),
  ]);
  const types = nodeClass === null ? [] : await ports.catalogs.instanceTypes(nodeClass);
  const instanceTypes = new Set(types.map(({ name }) => name));
  const drift = findDrift(claim, { pool: nodePool, nodeClass, node, instanceTypes });
  const eventMs = lastPodEvent(claim, podEventMs, ports.now());
  const consolidatable = judgeConsolidatable(claim, nodePool, eventMs, ports.now());
  const conditions: ReadonlyArray<ConditionChange> = [
    ...(drift === null ? [] : [{ type: 'Drifted', status: 'True', ...drift } as const]),
    ...(consolidatable.kind === 'since' ? [CONSOLIDATABLE] : []),
  ];
  const said = new Set(conditions.map(({ type }) => type));
  await writeStatus(ports, claim, {
    conditions,
    clear: ['Drifted', 'Consolidatable'].filter((type) => !said.has(type) && isShown(claim, type)),
    fields: eventMs === null ? {} : { lastPodEventTime: toTimestamp(eventMs) },
  });
  return restUntil(consolidatable);
}

const CONSOLIDATABLE: ConditionChange = {
  type: 'Consolidatable',
  status: 'True',
  reason: 'Consolidatable',
  message: '',
};

function isShown(claim: NodeClaim, type: string): boolean {
  return isTrue(claim.status?.conditions, type);
}

function restUntil(consolidatable: Consolidatable): Step {
  return consolidatable.kind === 'from'
    ? { kind: 'wait', for: 'consolidateAfter to pass', lookAgainMs: consolidatable.atMs }
    : { kind: 'wait', for: 'nothing: it is ready', lookAgainMs: null };
}
