import { describe } from 'vitest';
import { scaleCases } from './scale-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  scaleCases('real', { pods: 1_000, shy: 100 });
});
