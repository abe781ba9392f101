import { describe } from 'vitest';
import { metricsCases } from './metrics-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  metricsCases('real');
});
