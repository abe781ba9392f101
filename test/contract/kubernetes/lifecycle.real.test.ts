import { describe } from 'vitest';
import { startReal } from './cases/api-under-test.ts';
import { lifecycleCases } from './cases/lifecycle-cases.ts';
import { startedApi } from './started-api.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

describe.skipIf(assets === '')('the real API server with its controller manager (needs KUBEBUILDER_ASSETS)', () => {
  lifecycleCases(startedApi(() => startReal(assets, true)));
});
