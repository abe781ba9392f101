import { describe } from 'vitest';
import { deviceCases } from './device-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  deviceCases('real');
});
