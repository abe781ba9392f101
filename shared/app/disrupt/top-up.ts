import { annotation } from '../../contract/names.ts';
import { decisionOf, lostOf, replacementsOf, type Begun } from '../../core/disruption/second-look/begun.ts';
import { reasonOf, type BegunVerdict, type JudgedBegun } from '../../core/disruption/second-look/judge-begun.ts';
import { judged } from '../../core/recovery/sound-plan.ts';
import { annotateClaim } from '../claims/annotate-claim.ts';
import { commitPlan } from '../commit/commit-plan.ts';
import { execute } from '../execute/execute.ts';
import { NODES_AT_ONCE } from '../execute/mark.ts';
import type { Gathered } from '../gather/gather.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { onlyCheaper } from './only-cheaper.ts';
import { removalOf } from './remove.ts';

/**
 * As it was judged; where it is about money, with a plan that buys nothing but what keeps a saving, and as taken back
 * where there is none.
 */
export function affordable({ one, verdict }: JudgedBegun): JudgedBegun {
  if (verdict.kind !== 'short' || verdict.shortage.below === Infinity) return { one, verdict };
  const { shortage, why, failed, because } = verdict;
  const cheaper = onlyCheaper(shortage.plan, shortage.input, shortage.below);
  const plan = cheaper === null ? null : judged(cheaper, shortage.input);
  return plan === null
    ? { one, verdict: { kind: 'take-back', why, failed, because } }
    : { one, verdict: { ...verdict, shortage: { ...shortage, plan } } };
}

/**
 * Buys new nodes for the pods of one set that have no room any more, so that it goes on: what has come for its other
 * pods would be of no use otherwise. Of several sets the others have their turn at the next looks, on the cluster as it
 * is then.
 */
export async function topUp(ports: Ports, gathered: Gathered, sets: ReadonlyArray<JudgedBegun>): Promise<void> {
  await eachAlone(sets, 1, ({ one, verdict }) => forgetLost(ports, gathered, one, verdict));
  const short = sets.find(({ one, verdict }) => verdict.kind === 'short' && !hasBought(ports, one));
  if (short?.verdict.kind !== 'short') return;
  const { one, verdict } = short;
  const { plan, input } = verdict.shortage;
  const [createdFor = ''] = one.candidates.flatMap(({ claim }) => reasonOf(claim) ?? []);
  const nodes = one.candidates.map(({ node }) => node.metadata.name);
  const cause = `${createdFor}, room for: ${nodes.join(', ')}`;
  const committed = await commitPlan(ports, { ...gathered, input }, plan, cause, { createdFor });
  // Somebody else has decided first.
  if (committed.kind === 'lost') return;
  const { decision, state } = committed;
  noteBought(ports, one);
  const { missing } = await execute(ports, state, decision);
  const bought = decision.claimNames.filter((name) => !missing.has(name));
  // From here on it is waited for, counts as spent, and as failed where it does not join.
  await nameReplacements(ports, one, (named) => [...new Set([...named, ...bought])]);
  ports.log('disruption-topped-up', {
    removal: one.decision,
    decision: decision.name,
    nodes: nodes.join(','),
    replacements: bought.join(','),
    pods: plan.claims.reduce((count, { pods }) => count + pods.length, 0),
    why: verdict.why,
  });
}

/**
 * So often a set is bought for within so long: pods may take what has come twice over, but what vanishes each time, as
 * when somebody deletes it, is not bought at each look.
 */
const BOUGHT_TIMES = 2;
const BOUGHT_WITHIN_MS = 60_000;

function hasBought({ told, now }: Ports, one: Begun): boolean {
  return boughtKeys(one).every((key) => told.isKnown(key, now()));
}

function noteBought({ told, now }: Ports, one: Begun): void {
  boughtKeys(one).some((key) => told.isNews(key, now(), BOUGHT_WITHIN_MS));
}

function boughtKeys({ decision }: Begun): ReadonlyArray<string> {
  return Array.from({ length: BOUGHT_TIMES }, (_, time) => `top-up/${decision ?? ''}/${time}`);
}

/**
 * A set that is not given up for a replacement that is lost waits for the others: once that claim is gone, nobody could
 * tell why.
 */
async function forgetLost(ports: Ports, { snapshot }: Gathered, one: Begun, { kind }: BegunVerdict): Promise<void> {
  if (kind !== 'short' && kind !== 'wait') return;
  const lost = new Set(lostOf(one, snapshot));
  await nameReplacements(ports, one, (named) => named.filter((name) => !lost.has(name)));
}

/** Says on the claims of the set what comes in their place, given what they say now; nothing where that is the same. */
async function nameReplacements(
  ports: Ports,
  { candidates }: Begun,
  namesFrom: (named: ReadonlyArray<string>) => ReadonlyArray<string>,
): Promise<void> {
  await eachAlone(candidates, NODES_AT_ONCE, async (candidate) => {
    await annotateClaim(ports, candidate.claim, (claim) => {
      const named = replacementsOf(claim);
      const names = namesFrom(named);
      if (decisionOf(claim) !== removalOf(candidate) || names.length === named.length) return null;
      return { [annotation.replacedBy]: names.length === 0 ? null : names.join(',') };
    });
  });
}
