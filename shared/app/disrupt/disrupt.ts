import { areSlow, begunIn } from '../../core/disruption/second-look/begun.ts';
import { resume } from '../commit/commit-plan.ts';
import { NODES_AT_ONCE, tellFailed, unmark } from '../execute/mark.ts';
import { gather } from '../gather/gather.ts';
import { readSnapshot } from '../gather/read-snapshot.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { begin } from './begin.ts';
import { watchRollouts } from './brakes/halt-rollouts.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';
import { goOn } from './go-on.ts';

/**
 * Removes nodes that are not needed, or not as they should be, and what replaces them comes first. In two looks: the
 * first commits a decision, creates replacements and marks the nodes (`begin`); a later one finds the marks, waits
 * until replacements are initialized, judges everything anew, and then deletes the claims or takes the marks off
 * (`goOn`). What stands between the two is written on the objects, so that any instance can go on, whenever the last
 * one ended.
 */
export async function disrupt(ports: Ports): Promise<DisruptOutcome> {
  const resumed = await resume(ports);
  if (resumed.kind === 'executing') return { kind: 'executing' };
  if (!ports.disruption.isOn) return takeAllBack(ports);
  const gathered = await gather(ports, resumed.ledger, true);
  if (gathered === null) return { kind: 'no-snapshot' };
  const view = { gathered, rollouts: await watchRollouts(ports, gathered) };

  // What is under way comes first: what is decided beside it would be decided otherwise a moment later.
  const begun = begunIn(gathered.snapshot);
  if (begun.length === 0) return begin(ports, view, { kind: 'idle' });
  const outcome = await goOn(ports, view, begun);
  const mayBegin = outcome.kind === 'waiting' && areSlow(begun, ports.now());
  return mayBegin ? begin(ports, view, outcome) : outcome;
}

/** Marks are all that matters here: where it is switched off, a timer need not read prices. */
async function takeAllBack(ports: Ports): Promise<DisruptOutcome> {
  const snapshot = await readSnapshot(ports, true);
  if (snapshot === null) return { kind: 'no-snapshot' };
  const candidates = begunIn(snapshot).flatMap((one) => one.candidates);
  const why = 'disruption is switched off';
  const unmarked = await eachAlone(candidates, NODES_AT_ONCE, (candidate) => unmark(ports, candidate, why));
  await tellFailed(ports, candidates, unmarked, 'unmark');
  return { kind: 'off', takenBack: unmarked.filter(({ kind }) => kind === 'done').length };
}
