import { describe } from 'vitest';
import { evictionPathCases } from './eviction-path-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  evictionPathCases('real');
});
