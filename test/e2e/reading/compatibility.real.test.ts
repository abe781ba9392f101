import { describe } from 'vitest';
import { compatibilityCases, manyNodesCases } from './compatibility-cases.ts';
import { leaderCases } from './leader-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  compatibilityCases('real');
  leaderCases('real');
  manyNodesCases('real');
});
