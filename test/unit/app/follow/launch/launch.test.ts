import { describe, expect, it } from 'vitest';
import { createDefinitions } from '../../../../../shared/adapters/kubernetes/definitions.ts';
import { createKubernetes } from '../../../../../shared/adapters/kubernetes/kubernetes.ts';
import { launch } from '../../../../../shared/app/follow/launch/launch.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';
import type { NodeClaim } from '../../../../../shared/kubernetes/manifest.ts';
import type { LaunchOrder, LaunchOutcome } from '../../../../../shared/ports/cloud.ts';
import { size } from '../../../../kit/core/build.ts';
import { claim, condition, nodeClass, nodePool } from '../../../../kit/app/build-claim.ts';

const types = [
  size('Standard_D2_v5', 2, 8, 100_000),
  size('Standard_D4_v5', 4, 16, 200_000),
  size('Standard_E2_v5', 2, 16, 130_000),
];

/**
 * Follows a claim of pool `general` that Azure refuses whatever it asks for; the sizes that were asked for, each once.
 */
async function sizesTried(given: NodeClaim, limits: Readonly<Record<string, string>>): Promise<ReadonlyArray<string>> {
  const orders: Array<LaunchOrder> = [];
  const bodies = new Map<string, object>([
    ['aksnodeclasses', nodeClass({ conditions: [condition('Ready')] })],
    ['nodepools', nodePool({ limits })],
    ['nodeclaims', given],
  ]);
  const kubernetes = createKubernetes(({ path }) => {
    const [, body] = [...bodies].find(([resource]) => path.includes(`/${resource}/`)) ?? [];
    return Promise.resolve({ status: 200, body: body ?? {} });
  });
  const refuse = (order: LaunchOrder): Promise<LaunchOutcome> => {
    orders.push(order);
    const refusal = {
      scope: 'offering',
      retryAfterMs: 1_000,
      reason: 'AllocationFailed',
      message: 'sold out',
    } as const;
    return Promise.resolve({ kind: 'unavailable', ...refusal });
  };
  const ports = {
    kubernetes,
    definitions: createDefinitions(kubernetes, () => 0),
    cloud: { launch: refuse, observe: () => Promise.resolve({ kind: 'gone' }) },
    catalogs: { instanceTypes: () => Promise.resolve(types), refuse: () => Promise.resolve() },
    decisions: { get: () => Promise.resolve(null) },
    now: () => 1_000,
    log: () => {},
  } as unknown as Ports;
  await launch(ports, given);
  return [...new Set(orders.map(({ offering }) => offering.instanceType))].toSorted();
}

function plannedAs(name: string): NodeClaim {
  return claim({
    annotations: { 'nodewright.dev/planned-offering': `${name}/westeurope-1/on-demand` },
    status: { conditions: [condition('Launched', 'Unknown')] },
  });
}

describe('a launch that Azure refuses', () => {
  it('takes no more of what its pool limits than the plan took, however much the pool has left', async () => {
    expect(await sizesTried(plannedAs('Standard_D2_v5'), { cpu: '1000' })).toEqual([
      'Standard_D2_v5',
      'Standard_E2_v5',
    ]);
    expect(await sizesTried(plannedAs('Standard_D2_v5'), { memory: '1000Gi' })).toEqual(['Standard_D2_v5']);
  });

  it('goes on with smaller sizes, and with larger ones where the limits are on something else', async () => {
    const all = types.map(({ name }) => name);
    expect(await sizesTried(plannedAs('Standard_D4_v5'), { cpu: '1000', memory: '1000Gi' })).toEqual(all);
    expect(await sizesTried(plannedAs('Standard_D2_v5'), { 'nvidia.com/gpu': '8', nodes: '3' })).toEqual(all);
    expect(await sizesTried(plannedAs('Standard_D2_v5'), {})).toEqual(all);
  });

  it('is not held to limits where no plan made its claim', async () => {
    const byHand = claim({ status: { conditions: [condition('Launched', 'Unknown')] } });
    expect(await sizesTried(byHand, { cpu: '1' })).toHaveLength(3);
  });
});
