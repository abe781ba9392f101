import { fromKubeconfig } from '../../../shared/adapters/kubernetes/kubeconfig.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { createTransport } from '../../../shared/adapters/kubernetes/transport.ts';
import type { Kubernetes } from '../../../shared/ports/kubernetes.ts';
import type { ApiUnderTest } from './cases/api-under-test.ts';

/** Our port on a server, as the product opens it. */
export async function portOn({ kubeconfigPath }: Pick<ApiUnderTest, 'kubeconfigPath'>): Promise<Kubernetes> {
  return createKubernetes(createTransport(await fromKubeconfig(kubeconfigPath)));
}
