import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRetailPrices } from '../../../shared/adapters/azure/catalog/retail-prices.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { isRunning } from '../kit/state.ts';
import { type World, eventsOf, startWorld } from '../kit/world.ts';

const SIZE = 'Standard_D2s_v5';
const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [SIZE] }];

describe('an app that is set to prices in euros', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld('embedded', { settings: { PRICE_CURRENCY: 'EUR' } });
  });
  afterAll(async () => {
    await world?.close();
  });

  it('reads them, and says euros wherever it tells an amount', async () => {
    await world.apply(nodeClass, nodePool('general', { requirements }), deployment('web', 1));
    await world.until('the pod runs', ({ pods }) => pods.filter(isRunning).length === 1);
    await world.until('a sweep has seen the machine', () =>
      amounts().some(({ event, micro }) => event === 'cluster-seen' && micro > 0),
    );
    const prices = await readRetailPrices({ location: 'westeurope', currency: 'EUR' }, world.sandbox.azure.endpoint);
    const euros = prices.get(SIZE)?.onDemandMicroUsd ?? 0;
    expect(euros).toBeGreaterThan(0);
    expect(new Set(amounts().map(({ currency }) => currency))).toEqual(new Set(['EUR']));
    expect(new Set(amounts().flatMap(({ micro }) => (micro > 0 ? [micro] : [])))).toEqual(new Set([euros]));
  });

  /** What lines tell of the cost of machines. */
  function amounts(): ReadonlyArray<{ readonly event: string; readonly micro: number; readonly currency: unknown }> {
    return eventsOf(world.lines).flatMap(({ event, facts }) =>
      'costMicroPerHour' in facts
        ? [{ event, micro: Number(facts['costMicroPerHour']), currency: facts['currency'] }]
        : [],
    );
  }
});
