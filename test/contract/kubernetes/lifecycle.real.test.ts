import { afterAll, beforeAll, describe } from 'vitest';
import { type ApiUnderTest, startReal } from './api-under-test.ts';
import { lifecycleCases } from './lifecycle-cases.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

describe.skipIf(assets === '')('the real API server with its controller manager (needs KUBEBUILDER_ASSETS)', () => {
  let started: ApiUnderTest | null = null;
  beforeAll(async () => {
    started = await startReal(assets, true);
  });
  afterAll(async () => {
    await started?.close();
  });
  lifecycleCases(() => {
    if (started === null) throw new Error('not started');
    return started;
  });
});
