import { join } from 'node:path';
import { describe } from 'vitest';
import { startDouble, startReal } from './cases/api-under-test.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';
import { kubectlCases } from './cases/kubectl-cases.ts';
import { startedApi } from './started-api.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

/** kubectl comes with the control plane's binaries, so the double is tried with it here too. */
describe.skipIf(assets === '').each([
  ['the double', startDouble],
  ['the real kube-apiserver', () => startReal(assets, false)],
] as const)('kubectl on %s (needs KUBEBUILDER_ASSETS)', (_name, start) => {
  const api = startedApi(start);
  const kubectl = (): Kubectl => kubectlOf(join(assets, 'kubectl'), api().kubeconfigPath);
  kubectlCases(api, kubectl);
});
