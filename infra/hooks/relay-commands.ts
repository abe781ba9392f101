import type { InTheCluster } from './in-the-cluster.ts';

/** What a deployment's outputs say of the relay: main.bicep's, as azd hands them on. */
export interface Deployed {
  readonly clusterName: string;
  readonly clusterResourceGroup: string;
  readonly functionsPrincipalId: string;
  readonly relayClientId: string;
  readonly serviceBusNamespace: string;
  readonly blobServiceUri: string;
  /** Where the relay runs: what its federated credential names. */
  readonly relayNamespace: string;
  /** Gates of the app, such as `CapacityBuffer=true`. */
  readonly featureGates: string;
  /** Name of the registry that was made; empty where the image comes from elsewhere. */
  readonly registryName: string;
  /** An image that is there, as `REGISTRY/nodewright-relay:TAG` or with a digest; empty: it is built. */
  readonly relayImage: string;
  /** A file of values for the chart, from the repository's root; empty: none. */
  readonly chartValues: string;
}

const OUTPUTS: Readonly<Record<keyof Deployed, string>> = {
  clusterName: 'CLUSTER_NAME',
  clusterResourceGroup: 'CLUSTER_RESOURCE_GROUP',
  functionsPrincipalId: 'FUNCTIONS_PRINCIPAL_ID',
  relayClientId: 'RELAY_CLIENT_ID',
  serviceBusNamespace: 'SERVICE_BUS_NAMESPACE',
  blobServiceUri: 'BLOB_SERVICE_URI',
  relayNamespace: 'RELAY_NAMESPACE',
  featureGates: 'FEATURE_GATES',
  registryName: 'REGISTRY_NAME',
  relayImage: 'NODEWRIGHT_RELAY_IMAGE',
  chartValues: 'NODEWRIGHT_CHART_VALUES',
};

/** Those of the outputs that may be empty. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'FEATURE_GATES',
  'REGISTRY_NAME',
  'NODEWRIGHT_RELAY_IMAGE',
  'NODEWRIGHT_CHART_VALUES',
]);

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

/** An image as the chart takes it. Empty: not said. */
export interface Image {
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
}

/** Whether a text names an image. */
export function isImage(text: string): boolean {
  return imageOf(text) !== null;
}

/** Takes `REGISTRY:PORT/NAME:TAG@sha256:…` apart. Throws an Error that says what it should be. */
export function readImage(text: string): Image {
  const image = imageOf(text);
  if (image !== null) return image;
  throw new Error(
    `NODEWRIGHT_RELAY_IMAGE is ${JSON.stringify(text)}: write REGISTRY/nodewright-relay:TAG, or REGISTRY/nodewright-relay@sha256: and 64 hexadecimal digits`,
  );
}

function imageOf(text: string): Image | null {
  const [name = '', digest = '', ...more] = text.split('@');
  const isDigest = digest === '' ? !text.includes('@') : /^sha256:[0-9a-f]{64}$/.test(digest);
  // A colon before the last slash is of the registry's port.
  const tagAt = name.lastIndexOf(':') > name.lastIndexOf('/') ? name.lastIndexOf(':') : name.length;
  const image = { repository: name.slice(0, tagAt), tag: name.slice(tagAt + 1), digest };
  const isWhole = isDigest && more.length === 0 && /^[\w.:-]+(\/[\w.-]+)+$/.test(image.repository);
  return isWhole ? image : null;
}

/**
 * Builds the relay's image in the registry, from the repository's root; nothing needs a container engine here.
 * Registries build for amd64 unless told.
 */
export function buildCommand(
  { registryName }: Deployed,
  { version, architecture }: { readonly version: string; readonly architecture: string },
): ReadonlyArray<string> {
  const image = `nodewright-relay:${version}`;
  const platform = architecture === 'amd64' ? [] : ['--platform', `linux/${architecture}`];
  return ['acr', 'build', '--registry', registryName, '--image', image, ...platform, '--file', 'relay/Dockerfile', '.'];
}

/**
 * The digest of the image that was built: with the tag alone, an image that has changed under it would not be rolled
 * out.
 */
export function digestCommand({ registryName }: Deployed, version: string): ReadonlyArray<string> {
  return ['acr', 'repository', 'show', '--name', registryName, '--image', `nodewright-relay:${version}`];
}

/** The name that the federated credential of the relay has for it, in infra/modules/identities.bicep. */
const SERVICE_ACCOUNT = 'nodewright-relay';

/**
 * The chart's values that the deployment decides; they count before those of one's own. `architecture`: of an image
 * that was built here, which runs on nodes of that sort only; empty for one that comes from elsewhere, and may have
 * several.
 */
export function renderValues(
  deployed: Deployed,
  {
    image,
    architecture,
    cluster,
  }: { readonly image: Image; readonly architecture: string; readonly cluster: InTheCluster },
): Readonly<Record<string, unknown>> {
  return {
    functions: { objectId: deployed.functionsPrincipalId },
    workloadIdentity: { clientId: deployed.relayClientId },
    settings: {
      clusterName: deployed.clusterName,
      serviceBusNamespace: deployed.serviceBusNamespace,
      blobServiceUri: deployed.blobServiceUri.replace(/\/$/, ''),
      featureGates: { capacityBuffer: hasGate(deployed.featureGates, 'CapacityBuffer') },
    },
    image: Object.fromEntries(Object.entries(image).filter(([, value]) => value !== '')),
    serviceAccount: { name: SERVICE_ACCOUNT },
    ...(architecture === '' ? {} : { nodeSelector: { 'kubernetes.io/arch': architecture } }),
    ...(cluster.foreign.length === 0 ? {} : { crds: { install: false } }),
  };
}

/** Of the values that the chart has those of one's own: without what the deployment decides. */
export function ownValues(
  values: Readonly<Record<string, unknown>>,
  decisive: { readonly architecture: string; readonly cluster: InTheCluster },
): Readonly<Record<string, unknown>> {
  const nobody = Object.fromEntries(Object.keys(OUTPUTS).map((name) => [name, ''])) as unknown as Deployed;
  // An image is decided as a whole, also where it has no digest now.
  const image = { repository: '', tag: '', digest: '' };
  return without(values, { ...renderValues(nobody, { image, ...decisive }), image });
}

function without(
  values: Readonly<Record<string, unknown>>,
  decided: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const rest = Object.entries(values).flatMap(([name, value]): ReadonlyArray<readonly [string, unknown]> => {
    if (!(name in decided)) return [[name, value]];
    const over = decided[name];
    if (!isMapping(value) || !isMapping(over)) return [];
    const inner = without(value, over);
    return Object.keys(inner).length === 0 ? [] : [[name, inner]];
  });
  return Object.fromEntries(rest);
}

/** A mapping of JSON or YAML, and no list. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `relay.replicas`, `tolerations`: where values stand. */
export function pathsOf(values: Readonly<Record<string, unknown>>): ReadonlyArray<string> {
  return Object.entries(values).flatMap(([name, value]) =>
    isMapping(value) && Object.keys(value).length > 0 ? pathsOf(value).map((inner) => `${name}.${inner}`) : [name],
  );
}

/** As the app reads its gates: the last one said counts. */
function hasGate(gates: string, name: string): boolean {
  const said = gates.split(',').map((one) => one.split('=').map((part) => part.trim()));
  return said.findLast(([gate]) => gate === name)?.[1] === 'true';
}

/** Names of what is sent along with the command: the chart, values of one's own, and those of the deployment. */
export const sent = { chart: 'chart', own: 'own-values.yaml', deployed: 'deployed-values.json' } as const;

/** Installs the chart from a folder that has it and its values. */
export function helmCommand(
  { relayNamespace }: Pick<Deployed, 'relayNamespace'>,
  { hasOwn }: { readonly hasOwn: boolean },
): ReadonlyArray<string> {
  const files = hasOwn ? [sent.own, sent.deployed] : [sent.deployed];
  return [
    'helm',
    'upgrade',
    '--install',
    'nodewright',
    sent.chart,
    '--namespace',
    relayNamespace,
    '--create-namespace',
    ...files.flatMap((file) => ['--values', file]),
  ];
}

/**
 * Runs a command in the cluster by way of Azure: no kubeconfig and no route to the API server is needed. `withFiles`:
 * this folder goes along.
 */
export function invokeCommand(
  deployed: Pick<Deployed, 'clusterName' | 'clusterResourceGroup'>,
  command: string,
  { withFiles }: { readonly withFiles: boolean },
): ReadonlyArray<string> {
  const { clusterResourceGroup, clusterName } = deployed;
  const place = ['--resource-group', clusterResourceGroup, '--name', clusterName];
  return ['aks', 'command', 'invoke', ...place, '--command', command, ...(withFiles ? ['--file', '.'] : [])];
}

/** What to type when everything stands. `examples`: the folder of ours. */
export function nextSteps(
  { clusterName, clusterResourceGroup, relayNamespace }: Deployed,
  examples = 'examples',
): ReadonlyArray<string> {
  return [
    '',
    `Nodewright is deployed for ${clusterName}. Nodes come for pods that wait once there is a NodePool:`,
    '',
    `  az aks get-credentials --resource-group ${clusterResourceGroup} --name ${clusterName}`,
    `  kubectl --namespace ${relayNamespace} rollout status deployment/nodewright-relay`,
    `  kubectl apply -f ${examples}/general-purpose.yaml`,
    '  kubectl get nodepools,nodeclaims,nodes --watch',
  ];
}
