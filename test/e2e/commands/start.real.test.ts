import { describe } from 'vitest';
import { startCases } from './start-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  startCases('real');
});
