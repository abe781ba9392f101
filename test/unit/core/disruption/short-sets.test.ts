import { describe, expect, test } from 'vitest';
import { begunIn, type Begun } from '../../../../shared/core/disruption/second-look/begun.ts';
import {
  judgeBegun,
  type BegunVerdict,
  type SecondLook,
} from '../../../../shared/core/disruption/second-look/judge-begun.ts';
import type { DisruptionInput } from '../../../../shared/core/model/disruption-input.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { soundPlan } from '../../../../shared/core/recovery/sound-plan.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { CONSOLIDATABLE, disruptionInput, machine, NOW, on, type Machine } from '../../../kit/core/build-disruption.ts';

/** `a` is full, so that pods of nodes that are marked to go need a new node. */

const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const SINCE = NOW - 60_000;
const at = (ms: number): string => new Date(ms).toISOString();
const large = shape(spec('3500m', '1Gi'));
const small = shape(spec('500m', '1Gi'));

interface Marks {
  readonly reason?: 'Drifted' | 'Underutilized';
  readonly replacedBy?: string;
  readonly unavailable?: string;
}

/** A node that decision `d` has marked. */
function marked(name: string, { reason = 'Drifted', replacedBy, unavailable }: Marks, parts = {}): Machine {
  const why = reason === 'Drifted' ? [{ type: 'Drifted', status: 'True' }] : [];
  const one = machine(name, {
    ...parts,
    conditions: [
      CONSOLIDATABLE,
      ...why,
      { type: 'DisruptionReason', status: 'True', reason, lastTransitionTime: at(SINCE) },
    ],
  });
  const annotations = {
    'nodewright.dev/disruption': 'd',
    ...(replacedBy === undefined ? {} : { 'nodewright.dev/replaced-by': replacedBy }),
    ...(unavailable === undefined ? {} : { 'nodewright.dev/replacement-unavailable': unavailable }),
  };
  return {
    node: { ...one.node, spec: { ...one.node.spec, taints: [DISRUPTED] } },
    claim: { ...one.claim, metadata: { ...one.claim.metadata, annotations } },
  };
}

/** In use, and full. */
const full = (name: string, parts: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { conditions: [CONSOLIDATABLE, { type: 'Initialized', status: 'True' }], ...parts });

function clusterOf(machines: ReadonlyArray<Machine>, parts: object = {}): DisruptionInput {
  const pods = [...on('a', 0, 1), ...on('b', 0, 1)];
  return disruptionInput({ machines: [full('a'), ...machines], shapes: [large, small], pods, ...parts });
}

function judged(input: DisruptionInput, nowMs = NOW): BegunVerdict {
  return judgeBegun(begunOf(input), lookAt(input, nowMs));
}

function begunOf({ provisioning }: DisruptionInput): Begun {
  const [one] = begunIn(provisioning.cluster);
  if (one === undefined) throw new Error('nothing has begun');
  return one;
}

function lookAt(input: DisruptionInput, nowMs: number): SecondLook {
  const now = instant(nowMs);
  return { input, now, seenMs: nowMs, currency: 'USD', planFor: (asked) => soundPlan(asked, now).plan };
}

/** A node that another decision has marked. */
function by(decision: string, one: Machine): Machine {
  const { metadata } = one.claim;
  return {
    ...one,
    claim: {
      ...one.claim,
      metadata: { ...metadata, annotations: { ...metadata.annotations, 'nodewright.dev/disruption': decision } },
    },
  };
}

describe('sets that are short of room', () => {
  test('of which there are two do not wait for each other', () => {
    const input = disruptionInput({
      machines: [full('a'), marked('b', {}), by('e', marked('c', {}))],
      shapes: [large, small],
      pods: [...on('a', 0, 1), ...on('b', 0, 1), ...on('c', 0, 1)],
    });
    const look = lookAt(input, NOW);
    const kinds = begunIn(input.provisioning.cluster).map((one) => judgeBegun(one, look));
    expect(kinds.map(({ kind }) => kind)).toContain('short');
  });

  test('are worth no more than what they have cost before leaves to save', () => {
    // Two large pods on `b`, which costs 0.4 an hour: `r` at 0.1 has come for it, and others have filled it. A look has
    // bought `t` at 0.2 for one of the pods; then the room that the other counted on was taken too.
    const going = { reason: 'Underutilized', replacedBy: 'claim-r,claim-t' } as const;
    const pods = [...on('a', 0, 1), ...on('b', 0, 2), ...on('r', 1, 3)];
    const machines = [marked('b', going, { cpu: 8 }), full('r', { cpu: 2 }), full('t', { cpu: 4 })];
    // One more at 0.2 makes 0.5 in the place of 0.4.
    expect(judged(clusterOf(machines, { pods }))).toMatchObject({ kind: 'take-back' });
  });
});
