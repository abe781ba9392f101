import { describe, expect, test } from 'vitest';
import { candidatesOf, type Begun } from '../../../../shared/core/disruption/second-look/begun.ts';
import { shortageOf } from '../../../../shared/core/disruption/second-look/shortage.ts';
import type { CapacityType } from '../../../../shared/core/model/catalog.ts';
import type { PlannedClaim } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { plannedClaim, zones } from '../../../kit/core/build.ts';
import { disruptionInput, machine, type Machine } from '../../../kit/core/build-disruption.ts';

/** A new node at 0.1 an hour for these pods. */
function bought(uids: ReadonlyArray<string>, capacityType: CapacityType = 'on-demand'): PlannedClaim {
  const price = microUsdPerHour(100_000);
  const offering = { instanceType: 'Standard_D2s_v5', zone: zones[0], capacityType, price };
  return plannedClaim(offering, { pods: uids.map((uid) => ({ uid, name: uid })) });
}

/** Pods `p` and `q` of these nodes move; what may be bought of these claims. Others have come by name. */
function shortage(
  going: ReadonlyArray<Machine>,
  come: ReadonlyArray<Machine>,
  claims: ReadonlyArray<PlannedClaim>,
  isForced = false,
): unknown {
  const { provisioning } = disruptionInput({ machines: [...going, ...come], shapes: [], pods: [] });
  const names = new Set(going.map(({ claim }) => claim.metadata.name));
  const candidates = candidatesOf(provisioning.cluster).filter(({ claim }) => names.has(claim.metadata.name));
  const replacements = come.map(({ claim }) => claim.metadata.name);
  const one: Begun = { decision: 'd', candidates, replacements, unavailable: [], sinceMs: 0 };
  const short = { plan: { claims }, input: provisioning, uids: new Set(['p', 'q']), isForced };
  const found = shortageOf(one, short as never, provisioning);
  return found === null || found === 'others-first' ? found : found.below;
}

const large = machine('large', { cpu: 8 });
const small = machine('small', { cpu: 2 });

describe('new nodes for a set', () => {
  test('are bought where each is for its own pods alone', () => {
    expect(shortage([large], [], [bought(['p']), bought(['q'])], true)).toBe(Infinity);
  });

  test.each([
    ['one of them is for somebody else', ['other']],
    ['one of them is for others, too', ['p', 'other']],
    ['one of them is for nobody, such as a buffer', []],
  ])('come after the others where %s', (_, uids) => {
    expect(shortage([large], [], [bought(['q']), bought(uids)], true)).toBe('others-first');
  });

  test('are bought at any price where it has to go', () => {
    expect(shortage([small], [], [bought(['p']), bought(['q'])], true)).toBe(Infinity);
  });

  test('may cost less together than it does beyond what has come', () => {
    expect(shortage([large, small], [machine('come')], [bought(['p'])])).toBe(300_000);
    expect(
      shortage(
        [large],
        [small],
        ['p', 'p', 'q'].map((uid) => bought([uid])),
      ),
    ).toBeNull();
  });

  test('are not bought where nobody knows what its nodes cost, or what has come', () => {
    const unknown = machine('unknown');
    for (const { metadata } of [unknown.node, unknown.claim]) {
      Object.assign(metadata, { labels: { ...metadata.labels, 'node.kubernetes.io/instance-type': 'no-such-size' } });
    }
    expect(shortage([large, unknown], [small], [bought(['p'])])).toBeNull();
    expect(shortage([large], [unknown, small], [bought(['p'])])).toBeNull();
  });

  test('are weighed against one that has come with its claim’s labels until it has a node, and then with its own', () => {
    const labels = { 'karpenter.sh/nodepool': 'general' };
    const bare = { ...small.claim, metadata: { ...small.claim.metadata, labels } };
    expect(shortage([large], [{ ...small, claim: bare }], [bought(['p'])])).toBe(300_000);
    const elsewhere = { ...small.node, spec: { providerID: 'azure:///other' } };
    expect(shortage([large], [{ ...small, node: elsewhere }], [bought(['p'])])).toBe(300_000);
  });

  test('are none of spot where any of its nodes is', () => {
    const spot = machine('spot', { cpu: 8, capacityType: 'spot' });
    const mixed = [bought(['p']), bought(['q'], 'spot')];
    expect(shortage([large, spot], [small], mixed)).toBeNull();
    expect(shortage([large, spot], [small], [bought(['p'])])).toBeGreaterThan(0);
    expect(shortage([large], [small], mixed)).toBe(300_000);
  });
});
