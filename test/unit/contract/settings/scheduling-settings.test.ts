import { describe, expect, test } from 'vitest';
import { readFeatureGates } from '../../../../shared/contract/settings/feature-gates.ts';
import { readPolicy, dedicatesNodes } from '../../../../shared/contract/settings/scheduling-settings.ts';
import { KARPENTER_POLICY } from '../../../../shared/core/model/provisioning-input.ts';

const zonal = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' };
const config = (...defaultConstraints: ReadonlyArray<object>) => ({
  SCHEDULER_CONFIG: JSON.stringify({ podTopologySpread: { defaultConstraints } }),
});

describe('the options of scheduling [M04]', () => {
  test('are Karpenter’s defaults when nothing is set', () => {
    expect(readPolicy({})).toEqual(KARPENTER_POLICY);
  });

  test('have Karpenter’s names and values', () => {
    const given = { PREFERENCE_POLICY: 'Ignore', MIN_VALUES_POLICY: 'BestEffort', FEATURE_GATES: 'NodeOverlay=true' };
    expect(readPolicy(given)).toMatchObject({
      preferencePolicy: 'Ignore',
      minValuesPolicy: 'BestEffort',
      gates: { nodeOverlay: true, staticCapacity: false },
    });
  });

  test.each([
    [{ PREFERENCE_POLICY: 'ignore' }, 'PREFERENCE_POLICY is ignore; it may be Respect or Ignore'],
    [{ MIN_VALUES_POLICY: 'Lax' }, 'MIN_VALUES_POLICY is Lax; it may be Strict or BestEffort'],
    [{ FEATURE_GATES: 'NodeOverlays=true' }, 'FEATURE_GATES has NodeOverlays=true'],
    [{ FEATURE_GATES: 'NodeOverlay' }, 'write NAME=true or NAME=false'],
    [{ SCHEDULER_CONFIG: 'podTopologySpread:' }, 'SCHEDULER_CONFIG: it cannot be read as JSON'],
    [config({ ...zonal, maxSkew: 0 }), 'maxSkew'],
    [config({ ...zonal, topologyKey: 'not/a/key' }), 'topologyKey'],
    [config({ ...zonal, whenUnsatisfiable: 'Never' }), 'whenUnsatisfiable'],
    [config({ ...zonal, labelSelector: {} }), 'SCHEDULER_CONFIG'],
    [config({ ...zonal, matchLabelKeys: ['x'] }), 'SCHEDULER_CONFIG'],
    [config(zonal, { ...zonal, maxSkew: 2 }), 'is listed twice'],
    [config({ ...zonal, minDomains: 2 }), 'minDomains goes with DoNotSchedule only'],
  ])('wrong in %o are named, with what is right', (given, message) => {
    expect(() => readPolicy(given)).toThrow(message);
  });

  test('take a default spread as Karpenter’s scheduler config has it', () => {
    const strict = { ...zonal, whenUnsatisfiable: 'DoNotSchedule', minDomains: 2 };
    expect(readPolicy(config(zonal, strict)).defaultSpread).toEqual([zonal, strict]);
    expect(readPolicy({ SCHEDULER_CONFIG: '{}' }).defaultSpread).toEqual([]);
  });

  test('gates that are not named keep their defaults', () => {
    expect(readFeatureGates('')).toEqual({
      NodeRepair: false,
      ReservedCapacity: true,
      SpotToSpotConsolidation: false,
      NodeOverlay: false,
      StaticCapacity: false,
      CapacityBuffer: false,
    });
    expect(readFeatureGates(' StaticCapacity=true, ReservedCapacity=false ')).toMatchObject({
      StaticCapacity: true,
      ReservedCapacity: false,
      NodeOverlay: false,
    });
  });
});

test('new nodes are kept for their planned pods unless that is turned off in so many words', () => {
  expect([{}, { RESERVE_NODES: 'true' }, { RESERVE_NODES: 'false' }].map(dedicatesNodes)).toEqual([true, true, false]);
  expect(() => dedicatesNodes({ RESERVE_NODES: 'no' })).toThrow('RESERVE_NODES is no; it may be true or false');
});
