import { expect, test } from 'vitest';
import { policyNow } from '../../../../../shared/core/disruption/brakes/policy-now.ts';
import { DEFAULT_DISRUPTION } from '../../../../../shared/core/model/disruption-input.ts';
import { disruptable, disruptionInput, machine, NOW } from '../../../../kit/core/build-disruption.ts';

const sick = (name: string, nodePool: string) =>
  machine(name, { nodePool, nodeConditions: [{ type: 'Ready', status: 'False' }] });

test('pools are held by what goes wrong, and by what somebody has said before that', () => {
  const said = disruptable('said');
  const annotations = { 'nodewright.dev/pause-disruption': 'true' };
  const { cluster } = disruptionInput({
    machines: ['a', 'b'].flatMap((name) => [sick(`${name}-said`, 'said'), sick(`${name}-sick`, 'sick')]),
    nodePools: [{ ...said, metadata: { ...said.metadata, annotations } }, disruptable('sick'), disruptable('well')],
    shapes: [],
    pods: [],
  }).provisioning;
  const { brakes, rollouts, ...rest } = policyNow({ ...DEFAULT_DISRUPTION, moveCost: 0.5 }, cluster, NOW);
  expect(Object.fromEntries(brakes)).toEqual({
    said: { kind: 'paused', until: null },
    sick: { kind: 'breaker', until: null, why: '2 of its 2 nodes are not ready' },
  });
  expect([rollouts.size, rest.moveCost]).toEqual([0, 0.5]);
  const found = new Map([['sick', { kind: 'canary' as const }]]);
  expect(policyNow(DEFAULT_DISRUPTION, cluster, NOW, found).rollouts).toBe(found);
});
