import { describe } from 'vitest';
import { disruptionCases } from './disruption-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  disruptionCases('real');
});
