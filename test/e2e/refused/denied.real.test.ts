import { describe } from 'vitest';
import { deniedCases } from './denied-cases.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

// The double knows no admission policies.
describe.skipIf(assets === '')('on a real control plane', () => {
  deniedCases('real', assets);
});
