import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { type ApiUnderTest, startDouble, startReal } from './api-under-test.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';
import { kubectlCases } from './kubectl-cases.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

/** kubectl comes with the control plane's binaries, so the double is tried with it here too. */
describe.skipIf(assets === '').each([
  ['the double', startDouble],
  ['the real kube-apiserver', () => startReal(assets, false)],
] as const)('kubectl on %s (needs KUBEBUILDER_ASSETS)', (_name, start) => {
  let started: ApiUnderTest | null = null;
  const api = (): ApiUnderTest => {
    if (started === null) throw new Error('not started');
    return started;
  };
  const kubectl = (): Kubectl => kubectlOf(join(assets, 'kubectl'), api().kubeconfigPath);
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => {
    await started?.close();
  });
  kubectlCases(api, kubectl);
});
