import { describe, expect, test } from 'vitest';
import { labelKey } from '../../../../shared/kubernetes/labels.ts';
import type { PodShape } from '../../../../shared/core/model/cluster.ts';
import type { PodDisruptionBudget } from '../../../../shared/kubernetes/manifest.ts';
import { pool, shape, spec } from '../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  keptFor,
  machine,
  on,
  plan,
  removed,
} from '../../../kit/core/build-disruption.ts';

/** Which nodes may be disrupted at all: Karpenter's candidates. */

const plain = shape(spec('500m', '1Gi'), { app: 'web' });
const protectedPod: PodShape = { ...plain, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
const budget: PodDisruptionBudget = {
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 0 },
};
const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };

/** Node `a`, whose one pod would fit on `b`; `b` stays. */
function beside(parts: Parameters<typeof machine>[1], pod: PodShape, more: Partial<Parameters<typeof plan>[0]> = {}) {
  return plan({
    machines: [machine('a', parts), machine('b', { conditions: [] })],
    shapes: [pod],
    pods: on('a', 0, 1),
    ...more,
  });
}

describe('with a terminationGracePeriod, what pods and their budgets say binds no drift, and all else still', () => {
  const grace = { claimSpec: { terminationGracePeriod: '1h' } };
  const eventual = { conditions: [drifted], ...grace };
  const patient = { conditions: [drifted] };

  test.each([
    ['drift with one, do-not-disrupt', eventual, protectedPod, [], ['a']],
    ['drift with one, a budget of pods', eventual, plain, [budget], ['a']],
    ['drift without, do-not-disrupt', patient, protectedPod, [], []],
    ['drift without, a budget of pods', patient, plain, [budget], []],
    ['consolidation with one, do-not-disrupt', grace, protectedPod, [], []],
    ['consolidation with one, a budget of pods', grace, plain, [budget], []],
    ['consolidation with one, neither', grace, plain, [], ['a']],
  ])('%s [L01]', (_, parts, pod, podDisruptionBudgets, gone) => {
    expect(removed(beside(parts, pod, { podDisruptionBudgets }))).toEqual(gone);
  });

  test('do-not-disrupt on the node itself keeps it all the same [L01]', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    expect(keptFor(beside({ ...eventual, annotations }, plain), 'a')).toBe('do-not-disrupt');
  });
});

describe('a pod that must not be disrupted', () => {
  test('keeps its node though it is a static one, of which no budget is asked [L01]', () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'n' };
    expect(keptFor(beside({}, { ...protectedPod, owner }), 'a')).toBe('pod-do-not-disrupt');
    expect(removed(beside({}, { ...plain, owner }, { podDisruptionBudgets: [budget] }))).toEqual(['a']);
  });

  test.each([
    ['do-not-disrupt', protectedPod, []],
    ['a budget', plain, [budget]],
  ])('keeps it no more once it is being deleted: %s [L01]', (_, pod, podDisruptionBudgets) => {
    const pods = (deleting: boolean) => on('a', 0, 1, { deleting });
    expect(removed(beside({}, pod, { podDisruptionBudgets, pods: pods(false) }))).toEqual([]);
    expect(removed(beside({}, pod, { podDisruptionBudgets, pods: pods(true) }))).toEqual(['a']);
  });

  test('keeps it only where its annotation says true or a duration [L01] [L05]', () => {
    const saying = (text: string) => ({ ...plain, annotations: { 'karpenter.sh/do-not-disrupt': text } });
    expect(removed(beside({}, saying('false')))).toEqual(['a']);
    expect(removed(beside({}, saying('48h')))).toEqual([]);
  });

  test('and that tolerates the taint of disruption is not evicted: its budget is not asked [L01]', () => {
    const tolerant = shape(
      spec('500m', '1Gi', { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists' }] }),
      { app: 'web' },
    );
    expect(removed(beside({}, tolerant, { podDisruptionBudgets: [budget] }))).toEqual(['a']);
  });
});

describe('a node is no candidate', () => {
  test('while it is being deleted [L01]', () => {
    expect(keptFor(beside({ nodeParts: { deletionTimestamp: '1970-01-02T11:59:00Z' } }, plain), 'a')).toBe('leaving');
  });

  test('when its NodePool is gone [L01]', () => {
    expect(keptFor(beside({ nodePool: 'gone' }, plain), 'a')).toBe('no-such-pool');
  });

  test.each([labelKey.instanceType, labelKey.zone, labelKey.capacityType])(
    'for consolidation without the label %s, and is one when it is empty [L01]',
    (key) => {
      const { node, claim } = machine('a');
      const { [key]: _, ...labels } = node.metadata.labels ?? {};
      const machines = [
        { node: { ...node, metadata: { ...node.metadata, labels } }, claim },
        machine('b', { conditions: [] }),
      ];
      const given = { machines, shapes: [plain] };
      expect(keptFor(plan({ ...given, pods: on('a', 0, 1) }), 'a')).toBe('unknown-price');
      expect(removed(plan({ ...given, pods: on('b', 0, 1) }))).toEqual(['a']);
    },
  );
});

test('a NodePool of which no size can be had holds up no other [L04] [L05]', () => {
  const none = pool('none', { requirements: [{ key: labelKey.instanceType, operator: 'In', values: ['Standard_X'] }] });
  const nodePools = [disruptable(), { ...none, spec: { ...none.spec, weight: 100 } }];
  const machines = [machine('a', { cpu: 8 }), machine('z', { nodePool: 'none', conditions: [CONSOLIDATABLE] })];
  const made = plan({ machines, nodePools, shapes: [plain], pods: [...on('a', 0, 1), ...on('z', 0, 7)] });
  expect(made.steps).toMatchObject([{ remove: ['a'] }]);
});
