import { describe, expect, test } from 'vitest';
import { withoutStalled } from '../../../../shared/core/disruption/second-look/without-stalled.ts';
import { withoutLeaving } from '../../../../shared/core/present/without-leaving.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { disruptionInput, machine, NOW, on, type Machine } from '../../../kit/core/build-disruption.ts';

const HALF_AN_HOUR = 30 * 60_000;
const waiting = (uid: string) => ({ ...on('x', 0, 1)[0], uid, nodeName: null, unschedulable: true });

/** `s` was made so long ago. */
function made(ageMs: number, initialized: boolean): Machine {
  const { node, claim } = machine('s', { initialized });
  const creationTimestamp = new Date(NOW - ageMs).toISOString();
  return { node, claim: { ...claim, metadata: { ...claim.metadata, creationTimestamp } } };
}

/** What is left for the pods of `b`, which goes; `s` is promised to its pod and to `w`, which waits, as `v` does. */
function leftOf(stalled: Machine, nominated: ReadonlyArray<string> = []) {
  const { provisioning } = disruptionInput({
    machines: [machine('a'), machine('b'), stalled],
    shapes: [shape(spec('500m', '1Gi'))],
    pods: [...on('b', 0, 1), waiting('w'), waiting('v')] as never,
    inFlight: new Map([['claim-s', { pods: ['s0-b-0000', 'w'] }]]) as never,
  });
  const now = instant(NOW);
  const target = { kind: 'node', name: 's' } as const;
  const nominations = [{ target, pods: nominated.map((uid) => ({ name: uid, uid })) }];
  const { cluster } = withoutStalled(withoutLeaving(provisioning, ['b'], now), provisioning, now, nominations);
  return {
    closed: cluster.nodes.flatMap(({ metadata: { name }, spec: { taints = [] } = {} }) =>
      taints.length > 0 ? name : [],
    ),
    pods: cluster.pods.map(({ uid }) => uid).toSorted(),
  };
}

describe('a node that is not in use', () => {
  test('takes no pods that move once it is half an hour old; those that wait for it stay with it', () => {
    const all = { closed: [], pods: ['s0-b-0000', 'v', 'w'] };
    expect(leftOf(made(HALF_AN_HOUR - 1, false))).toEqual(all);
    expect(leftOf(made(HALF_AN_HOUR, true))).toEqual(all);
    expect(leftOf(machine('s', { initialized: false }))).toEqual(all);
    expect(leftOf(made(HALF_AN_HOUR, false))).toEqual({ closed: ['s'], pods: ['s0-b-0000', 'v'] });
  });

  test('keeps those that are nominated there, too', () => {
    expect(leftOf(made(HALF_AN_HOUR, false), ['v']).pods).toEqual(['s0-b-0000']);
    expect(leftOf(made(HALF_AN_HOUR - 1, false), ['v']).pods).toEqual(['s0-b-0000', 'v', 'w']);
  });
});
