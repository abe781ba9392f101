import { describe } from 'vitest';
import { chaosCases } from './chaos-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  chaosCases('real', 'parts are killed', { growth: ['1', '2'], churn: ['1', '2'], loss: ['1'] });
});
