/** Outputs of main.bicep that removing needs. */
export const removalOutputs = [
  'AZURE_RESOURCE_GROUP',
  'AZURE_SUBSCRIPTION_ID',
  'CLUSTER_NAME',
  'CLUSTER_RESOURCE_GROUP',
  'FUNCTIONS_PRINCIPAL_ID',
  'NODE_RESOURCE_GROUP',
  'ROLE_SUFFIX',
] as const;

/** What to type to remove all of it, in order; `$NAME` stands where an output is not known. */
export function renderRemoval(environment: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> {
  const of = (name: (typeof removalOutputs)[number]): string => environment[name] || `$${name}`;
  const subscription = `/subscriptions/${of('AZURE_SUBSCRIPTION_ID')}`;
  const cluster = `--resource-group ${of('CLUSTER_RESOURCE_GROUP')} --name ${of('CLUSTER_NAME')}`;
  const principal = of('FUNCTIONS_PRINCIPAL_ID');
  return [
    '# The nodes, while the functions still run: their pods move to other nodes.',
    'kubectl delete nodepools --all',
    'kubectl wait --for=delete nodeclaims --all --timeout=30m',
    '# The relay, and the rights in the cluster.',
    `az aks command invoke ${cluster} --command "helm uninstall nodewright --namespace nodewright-system"`,
    '# What was granted outside the resource group: two role assignments and their roles.',
    `az role assignment delete --assignee ${principal} --scope ${subscription}/resourceGroups/${of('NODE_RESOURCE_GROUP')}`,
    `az role assignment delete --assignee ${principal} --scope ${subscription}`,
    `az role definition delete --name "Nodewright machines ${of('ROLE_SUFFIX')}" --scope ${subscription}/resourceGroups/${of('NODE_RESOURCE_GROUP')}`,
    `az role definition delete --name "Nodewright region ${of('ROLE_SUFFIX')}"`,
    '# A subnet, kubelet identity or disk encryption set in a group of your own has one more of each: this lists what is left.',
    `az role assignment list --all --assignee ${principal} --output table`,
    '# Everything else.',
    `az group delete --name ${of('AZURE_RESOURCE_GROUP')}`,
  ];
}
