import { describe } from 'vitest';
import { togetherCases } from './together-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  togetherCases('real');
});
