import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import { FORCED_REASONS } from '../../core/disruption/plan/disruption-plan.ts';
import { areSlow, begunIn } from '../../core/disruption/second-look/begun.ts';
import type { AuditedDisruption } from '../../core/disruption/sound-disruption.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { instant } from '../../core/quantity/units.ts';
import { resume } from '../commit/commit-plan.ts';
import { gather } from '../gather/gather.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import { makePlan } from '../plan/make-plan.ts';
import type { Ports } from '../ports/ports.ts';
import { readSnapshot } from '../gather/read-snapshot.ts';
import { recordLook } from '../tell/record-look.ts';
import { wake } from '../ports/wake.ts';
import { beginWhatHolds } from './begin-what-holds.ts';
import { begin } from './begin.ts';
import { tellBreakers } from './brakes/breaker.ts';
import { disruptionInput } from './disruption-input.ts';
import { goOn } from './go-on.ts';
import { watchRollouts } from './brakes/halt-rollouts.ts';
import { makeDisruption } from '../plan/make-disruption.ts';
import { NODES_AT_ONCE, tellFailed, unmark } from '../execute/mark.ts';
import { stateOf } from './tell/look-figures.ts';
import { tellKept } from './tell/tell-kept.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';

/**
 * Removes nodes that are not needed, or not as they should be, and what replaces them comes first. In two looks: the first
 * commits a decision, creates replacements and marks the nodes; a later one finds the marks, waits until replacements are
 * initialized, judges everything anew, and then deletes the claims or takes the marks off. What stands between the two is
 * written on the objects, so that any instance can go on, whenever the last one ended.
 */
export async function disrupt(ports: Ports): Promise<DisruptOutcome> {
  const resumed = await resume(ports);
  if (resumed.kind === 'executing') return { kind: 'executing' };

  if (!ports.disruption.isOn) return takeBack(ports);

  // 1. Gather.
  const gathered = await gather(ports, resumed.ledger, true);
  if (gathered === null) return { kind: 'no-snapshot' };
  const waiting = await watchRollouts(ports, gathered);
  const begun = begunIn(gathered.snapshot);
  const outcome = begun.length === 0 ? null : await goOn(ports, gathered, begun, waiting);
  if (outcome !== null && !(outcome.kind === 'waiting' && areSlow(begun, ports.now()))) return outcome;

  // 2. Plan: which nodes go first. 3. Audit: by rules that do not know how the plan was made.
  const now = instant(ports.now());
  const input = disruptionInput(ports, gathered.input, waiting);
  const planWith = (changes: Partial<DisruptionPolicy>): AuditedDisruption =>
    makeDisruption(ports, gathered, { ...input, policy: { ...input.policy, ...changes } });
  const plan = planWith({});
  await tellBreakers(ports, gathered);
  await tellKept(ports, gathered, plan.kept);
  await recordLook(ports, { id: '', counts: [], state: stateOf(gathered, plan, now) });
  if (plan.steps.length === 0) return outcome ?? { kind: 'idle' };

  // By the planner of provisioning: where pods go. Whoever waits may need the very room that looks too much.
  const { plan: before } = makePlan(
    ports,
    gathered,
    withoutLeaving(gathered.input, leavingNames(gathered.snapshot), now),
  );
  const goes = before.claims.length > 0 ? 'forced' : 'all';
  if (goes === 'forced') await wake(ports, ports.now(), 'pods-before-disruption');
  const first = goes === 'all' ? plan : forcedAmong(plan, planWith);
  const fixed = new Set(
    input.provisioning.cluster.nodePools.flatMap((pool) =>
      pool.spec.replicas === undefined ? [] : pool.metadata.name,
    ),
  );
  if (first.steps.length === 0) return { kind: 'waiting', for: 'nodes for pods that wait' };
  return beginWhatHolds(
    first,
    (leftOut) => planWith({ goes, leftOut }),
    (one, step) => begin(ports, gathered, { plan: one, step, before, fixed }),
    ports.now,
  );
}

/** What of a plan does not wait for pods that wait: nodes that must go, and that would wait for as long as pods arrive. */
function forcedAmong(
  plan: AuditedDisruption,
  planWith: (changes: Partial<DisruptionPolicy>) => AuditedDisruption,
): AuditedDisruption {
  const [first] = plan.steps;
  return first !== undefined && FORCED_REASONS.has(first.reason) ? plan : planWith({ goes: 'forced' });
}

/** Marks are all that matters here: where it is switched off, a timer need not read prices. */
async function takeBack(ports: Ports): Promise<DisruptOutcome> {
  const snapshot = await readSnapshot(ports, true);
  if (snapshot === null) return { kind: 'no-snapshot' };
  const candidates = begunIn(snapshot).flatMap((one) => one.candidates);
  const why = 'disruption is switched off';
  const unmarked = await eachAlone(candidates, NODES_AT_ONCE, (candidate) => unmark(ports, candidate, why));
  await tellFailed(ports, candidates, unmarked, 'unmark');
  return { kind: 'off', takenBack: unmarked.filter(({ kind }) => kind === 'done').length };
}
