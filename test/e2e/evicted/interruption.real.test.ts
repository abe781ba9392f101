import { describe } from 'vitest';
import { interruptionCases } from './interruption-cases.ts';
import { stormCases } from './storm-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  interruptionCases('real');
  stormCases('real');
});
