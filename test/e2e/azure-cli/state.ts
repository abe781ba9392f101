import type { OpenAzure } from '../../kit/azure-cli/open-azure.ts';
import type { Management } from '../../../sandbox/azure/management/management.ts';

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
    values: withoutDigest(inCluster.values),
  };
}

/** No image is built twice with the same digest, as what is sent names the time. */
function withoutDigest(values: Management['inCluster']['values']): object | null {
  if (values === null) return null;
  const { digest: _, ...image } = values['image'] as Readonly<Record<string, unknown>>;
  return { ...values, image };
}

/** Everything that a subscription holds, to be put into another of the same seed: what takes az a minute to make. */
export type Kept = ReturnType<typeof keep>;

const MAPS = [
  'deployments',
  'roleDefinitions',
  'roleAssignments',
  'topics',
  'identities',
  'sites',
  'registries',
] as const;

/** Its maps hold what nobody writes into. */
export function keep({ azure: { management } }: OpenAzure): {
  readonly maps: ReadonlyArray<ReadonlyArray<readonly [string, never]>>;
  readonly groups: ReadonlyArray<readonly [string, never]>;
  readonly cluster: Management['cloud']['clusterProperties'];
  readonly registered: ReadonlyArray<string>;
  readonly inCluster: Pick<Management['inCluster'], 'isInstalled' | 'hasDefinitions' | 'objects' | 'values'>;
} {
  const { cloud, inCluster, registered } = management;
  const { isInstalled, hasDefinitions, objects, values } = inCluster;
  return {
    maps: MAPS.map((name) => [...(management[name] as Map<string, never>)]),
    groups: [...(cloud.groups as Map<string, never>)],
    cluster: cloud.clusterProperties,
    registered: [...registered],
    inCluster: { isInstalled, hasDefinitions, objects, values },
  };
}

/** Puts it into another one. */
export function restore({ azure: { management } }: OpenAzure, kept: Kept): void {
  const { cloud, inCluster, registered } = management;
  for (const [index, name] of MAPS.entries()) {
    for (const [key, value] of kept.maps[index] ?? []) (management[name] as Map<string, never>).set(key, value);
  }
  for (const [key, value] of kept.groups) (cloud.groups as Map<string, never>).set(key, value);
  for (const name of kept.registered) registered.add(name);
  cloud.clusterProperties = kept.cluster;
  Object.assign(inCluster, kept.inCluster);
}

/** What has been asked of Resource Manager, after so many requests, that is no GET: `POST whatIf`. */
export function writesSince(opened: OpenAzure, asked: number): ReadonlyArray<string> {
  return opened
    .requests()
    .slice(asked)
    .filter(({ host, method }) => host === 'management.azure.com' && method !== 'GET')
    .map(({ method, path }) => `${method} ${path.replace(/\?.*/, '').replace(/.*\//, '')}`);
}
