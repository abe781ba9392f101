import { describe } from 'vitest';
import { oneFaultCases } from './one-fault-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  oneFaultCases('real');
});
