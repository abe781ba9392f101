import type { OpenAzure } from '../../kit/azure-cli/open-azure.ts';

/** What there is in the subscription that a deployment makes or changes: two of the same are equal. */
export function stateOf({ azure: { management } }: OpenAzure): object {
  const { cloud, deployments, identities, inCluster, registries, roleAssignments, roleDefinitions, sites, topics } =
    management;
  return {
    groups: [...cloud.groups.keys()],
    cluster: cloud.clusterProperties,
    deployments: [...deployments].map(([name, { parameters, outputs, fault }]) => [name, parameters, outputs, fault]),
    identities: [...identities.keys()],
    roles: [...roleDefinitions.keys(), ...roleAssignments.keys()].toSorted(),
    topics: [...topics.keys()],
    sites: [...sites],
    images: [...registries].map(([name, { images }]) => [name, [...images.keys()]]),
    chart: inCluster.isInstalled,
  };
}
