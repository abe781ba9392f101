import type { Rng } from '../../../sandbox/base/rng.ts';
import type { Policy, PolicyVerb } from '../world/faults.ts';

const MINUTE = 60_000;

/** All that we write, by whatever a policy may deny of it. */
const written: ReadonlyArray<readonly [PolicyVerb, string]> = [
  ['create', 'nodeclaims'],
  ['patch', 'nodeclaims'],
  ['status', 'nodeclaims'],
  ['delete', 'nodeclaims'],
  ['patch', 'nodes'],
  ['delete', 'nodes'],
  ['evict', 'pods'],
  ['delete', 'pods'],
  ['status', 'pods'],
  ['patch', 'nodepools'],
  ['status', 'nodepools'],
  ['patch', 'aksnodeclasses'],
  ['status', 'aksnodeclasses'],
  ['create', 'leases'],
  ['patch', 'leases'],
  ['create', 'events'],
];

/** What may be denied of one object for good, and leaves all others something to come to rest by. */
const once: ReadonlyArray<readonly [PolicyVerb, string]> = [
  ['patch', 'nodeclaims'],
  ['status', 'nodeclaims'],
  ['delete', 'nodeclaims'],
  ['patch', 'nodes'],
  ['delete', 'nodes'],
  ['evict', 'pods'],
  ['delete', 'pods'],
];

/** What nothing depends on: it may be denied of all for good. */
const told: ReadonlyArray<readonly [PolicyVerb, string]> = [
  ['create', 'events'],
  ['status', 'pods'],
  ['status', 'nodepools'],
];

/**
 * In about one run of four one policy or two: of one object, a pool's NodeClaims or a kind, for a while or for good.
 */
export function drawPolicies(rng: Rng): ReadonlyArray<Policy> {
  if (!rng.chance(28)) return [];
  return Array.from({ length: 1 + rng.below(2) }, () => drawPolicy(rng));
}

function drawPolicy(rng: Rng): Policy {
  const pick = <T>(list: ReadonlyArray<T>): T => list[rng.below(list.length)] as T;
  const by = rng.chance(50) ? 'webhook' : 'cluster-policy';
  const fromMs = rng.below(8 * MINUTE);
  const draw = rng.below(100);
  if (draw < 45) {
    const [verb, resource] = pick(written);
    const scope = rng.chance(60) ? 'all' : 'first';
    return { verb, resource, scope, fromMs, forMs: 20_000 + rng.below(6 * MINUTE), by };
  }
  if (draw < 60) return { verb: 'create', resource: 'nodeclaims', scope: 'pool', fromMs, forMs: null, by };
  const [verb, resource] = draw < 85 ? pick(once) : pick(told);
  return { verb, resource, scope: draw < 85 ? 'first' : 'all', fromMs, forMs: null, by };
}
