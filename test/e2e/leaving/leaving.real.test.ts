import { describe } from 'vitest';
import { leavingCases } from './leaving-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  leavingCases('real');
});
