import { outside, type OutputOf } from './outside.ts';

/** What to type to remove all of it, in order; `$NAME` stands where an output is not known. */
export function renderRemoval(environment: Readonly<Record<string, string | undefined>>): ReadonlyArray<string> {
  const of: OutputOf = (name) => environment[name] ?? `$${name}`;
  const cluster = `--resource-group ${of('CLUSTER_RESOURCE_GROUP')} --name ${of('CLUSTER_NAME')}`;
  const elsewhere = outside.flatMap(({ what, commands }) => {
    const own = commands(of);
    return own.length === 0 ? [] : [`# ${what}`, ...own];
  });
  return [
    '# The nodes, while the functions still run: their pods move to other nodes.',
    'kubectl delete nodepools --all',
    'kubectl wait --for=delete nodeclaims --all --timeout=30m',
    '# The node classes, while the app still runs to release them: it keeps each until no NodeClaim uses it.',
    'kubectl delete aksnodeclasses --all --timeout=5m',
    '# The relay, and the rights in the cluster. The custom resources stay: kubectl delete -f infra/chart/definitions removes them.',
    `az aks command invoke ${cluster} --command "helm uninstall nodewright --namespace ${of('RELAY_NAMESPACE')}"`,
    '',
    '# What is outside the resource group.',
    ...elsewhere,
    '# What an earlier deployment with other parameters may have left; each of these lists nothing when all is gone.',
    `az role assignment list --all --assignee-object-id ${of('FUNCTIONS_PRINCIPAL_ID')} --output table`,
    `az role definition list --custom-role-only true --query "[?ends_with(roleName, '${of('ROLE_SUFFIX')}')].roleName"`,
    `az consumption budget list --query "[?starts_with(name, 'nodewright-')].name"`,
    '',
    '# Everything else: the app, storage, queues, identities with the relay’s federated credential, topics made here, logs, alerts.',
    `az group delete --name ${of('AZURE_RESOURCE_GROUP')}`,
  ];
}
