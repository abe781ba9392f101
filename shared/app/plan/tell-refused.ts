import { publish } from '../tell/events.ts';
import { inParallel } from '../ports/in-parallel.ts';
import type { MadePlan } from './make-plan.ts';
import type { Ports } from '../ports/ports.ts';

/** NodePools told of at once. */
const TOLD_AT_ONCE = 8;

/** The finding changes with each look at the same fault. */
const TOLD_AGAIN_MS = 10 * 60_000;

/**
 * Tells the NodePools of a plan that its audit refused, where `kubectl describe nodepool` shows it. Their pods hear of
 * it as pods that are left.
 */
export async function tellRefused(ports: Ports, { refused, gathered }: MadePlan): Promise<void> {
  if (refused === null) return;
  const [finding] = refused.findings;
  const pools = gathered.snapshot.nodePools.filter(({ metadata }) => refused.nodePools.includes(metadata.name));
  await inParallel(pools, TOLD_AT_ONCE, async ({ metadata: { name, uid = '' } }) => {
    const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name, namespace: null, uid };
    const fate =
      refused.leftOut === 0
        ? 'the plan that was made instead has room for all pods'
        : `${refused.leftOut} pods stay pending because of it`;
    const message = `A plan with nodes of this NodePool broke a rule of the audit and was not carried out (${finding?.rule ?? ''}: ${finding?.text ?? ''}); ${fate}. This is a fault of Nodewright: please report it`;
    const dedupe = { key: 'plan-refused', periodMs: TOLD_AGAIN_MS };
    await publish(
      ports.kubernetes,
      { regarding, type: 'Warning', reason: 'PlanRefused', message, dedupe },
      ports.now(),
    );
  });
}
