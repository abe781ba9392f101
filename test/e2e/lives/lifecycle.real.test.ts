import { describe } from 'vitest';
import { lifecycleCases } from './lifecycle-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  lifecycleCases('real');
});
