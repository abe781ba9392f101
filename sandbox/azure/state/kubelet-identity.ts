import type { AzureOptions } from './options.ts';
import { renderResourceId } from '../arm/resource-id.ts';

/** The user-assigned identity that AKS makes for the kubelets of a cluster: nodes pull images with it. */
export interface KubeletIdentity {
  readonly resourceId: string;
  readonly clientId: string;
  readonly objectId: string;
}

/** The kubelet identity of the double's cluster, in its node resource group and with the name that AKS gives it. */
export function kubeletIdentity(
  options: Pick<AzureOptions, 'subscriptionId' | 'resourceGroup' | 'clusterName'>,
): KubeletIdentity {
  return {
    resourceId: renderResourceId({
      subscription: options.subscriptionId,
      group: options.resourceGroup,
      type: 'Microsoft.ManagedIdentity/userAssignedIdentities',
      name: `${options.clusterName}-agentpool`,
    }),
    clientId: '00000000-0000-4000-8000-000000000001',
    objectId: '00000000-0000-4000-8000-000000000002',
  };
}
