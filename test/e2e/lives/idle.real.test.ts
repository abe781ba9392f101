import { describe } from 'vitest';
import { idleCases } from './idle-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  idleCases('real', 45_000);
});
