import { describe } from 'vitest';
import { bufferCases } from './buffer-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  bufferCases('real', 20_000);
});
