import { expect, test } from 'vitest';
import { readDisruption } from '../../../../shared/contract/settings/disruption-settings.ts';

test('disruption is on where nothing is said, as in Karpenter, and off where somebody says so [M04]', () => {
  expect(readDisruption({})).toEqual({ isOn: true, spotToSpot: false, nodeRepair: false });
  expect(readDisruption({ DISRUPTION: 'on' }).isOn).toBe(true);
  expect(readDisruption({ DISRUPTION: 'off' }).isOn).toBe(false);
});

test('its gates are Karpenter’s [M04]', () => {
  const FEATURE_GATES = 'NodeRepair=true,SpotToSpotConsolidation=true';
  expect(readDisruption({ FEATURE_GATES })).toEqual({ isOn: true, spotToSpot: true, nodeRepair: true });
});

test('what is neither on nor off is told, with what may be written', () => {
  expect(() => readDisruption({ DISRUPTION: 'false' })).toThrow('app setting DISRUPTION is false; write on or off');
});
