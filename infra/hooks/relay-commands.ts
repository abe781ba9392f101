/** What a deployment's outputs say of the relay: main.bicep's, as azd hands them on. */
export interface Deployed {
  readonly clusterName: string;
  readonly clusterResourceGroup: string;
  readonly functionsPrincipalId: string;
  readonly relayClientId: string;
  readonly serviceBusNamespace: string;
  readonly blobServiceUri: string;
  /** Name of the registry that was made; empty where the image comes from elsewhere. */
  readonly registryName: string;
  /** `REGISTRY/nodewright-relay:TAG` of an image that is there; empty: it is built. */
  readonly relayImage: string;
}

const OUTPUTS: Readonly<Record<keyof Deployed, string>> = {
  clusterName: 'CLUSTER_NAME',
  clusterResourceGroup: 'CLUSTER_RESOURCE_GROUP',
  functionsPrincipalId: 'FUNCTIONS_PRINCIPAL_ID',
  relayClientId: 'RELAY_CLIENT_ID',
  serviceBusNamespace: 'SERVICE_BUS_NAMESPACE',
  blobServiceUri: 'BLOB_SERVICE_URI',
  registryName: 'REGISTRY_NAME',
  relayImage: 'NODEWRIGHT_RELAY_IMAGE',
};

/** Those of the outputs that may be empty. */
const OPTIONAL: ReadonlySet<string> = new Set(['REGISTRY_NAME', 'NODEWRIGHT_RELAY_IMAGE']);

/** Outputs of main.bicep that the hooks read. */
export const outputNames: ReadonlyArray<string> = Object.values(OUTPUTS).filter(
  (name) => !name.startsWith('NODEWRIGHT_'),
);

/** Throws an Error that names what is missing. */
export function readDeployed(environment: Readonly<Record<string, string | undefined>>): Deployed {
  const missing = Object.values(OUTPUTS).filter((name) => !OPTIONAL.has(name) && (environment[name] ?? '') === '');
  if (missing.length > 0) {
    throw new Error(`${missing.join(', ')} is not set: these are outputs of the deployment; run azd provision first`);
  }
  const deployed = Object.fromEntries(
    Object.entries(OUTPUTS).map(([name, output]) => [name, environment[output] ?? '']),
  ) as unknown as Deployed;
  if (deployed.registryName === '' && deployed.relayImage === '') {
    throw new Error(
      'no registry was made, and NODEWRIGHT_RELAY_IMAGE does not name an image: run azd env set NODEWRIGHT_RELAY_IMAGE REGISTRY/nodewright-relay:TAG',
    );
  }
  return deployed;
}

/** Builds the relay's image in the registry, from the repository's root; nothing needs a container engine here. */
export function buildCommand({ registryName }: Deployed, version: string): ReadonlyArray<string> {
  const image = `nodewright-relay:${version}`;
  return ['acr', 'build', '--registry', registryName, '--image', image, '--file', 'relay/Dockerfile', '.'];
}

/** The chart's values. `image`: `REGISTRY/nodewright-relay:TAG`. */
export function helmCommand(deployed: Deployed, image: string): ReadonlyArray<string> {
  const tagAt = image.lastIndexOf(':');
  const values = {
    'functions.objectId': deployed.functionsPrincipalId,
    'workloadIdentity.clientId': deployed.relayClientId,
    'settings.clusterName': deployed.clusterName,
    'settings.serviceBusNamespace': deployed.serviceBusNamespace,
    'settings.blobServiceUri': deployed.blobServiceUri.replace(/\/$/, ''),
    'image.repository': image.slice(0, tagAt),
    'image.tag': image.slice(tagAt + 1),
  };
  return [
    'helm',
    'upgrade',
    '--install',
    'nodewright',
    '.',
    '--namespace',
    'nodewright-system',
    '--create-namespace',
    ...Object.entries(values).flatMap(([name, value]) => ['--set-string', `${name}=${value}`]),
  ];
}

/** Runs a command in the cluster by way of Azure: no kubeconfig and no route to the API server is needed. */
export function invokeCommand(deployed: Deployed, command: ReadonlyArray<string>): ReadonlyArray<string> {
  const { clusterResourceGroup, clusterName } = deployed;
  const place = ['--resource-group', clusterResourceGroup, '--name', clusterName];
  return ['aks', 'command', 'invoke', ...place, '--command', command.join(' '), '--file', '.'];
}

/** What to type when everything stands. */
export function nextSteps({ clusterName, clusterResourceGroup }: Deployed): ReadonlyArray<string> {
  return [
    '',
    `Nodewright is deployed for ${clusterName}. Nodes come for pods that wait once there is a NodePool:`,
    '',
    `  az aks get-credentials --resource-group ${clusterResourceGroup} --name ${clusterName}`,
    '  kubectl --namespace nodewright-system rollout status deployment/nodewright-relay',
    '  kubectl apply -f examples/general-purpose.yaml',
    '  kubectl get nodepools,nodeclaims,nodes --watch',
  ];
}
