import { describe } from 'vitest';
import { failureCases } from './failure-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  failureCases('real');
});
