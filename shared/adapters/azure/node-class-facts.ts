import type { Settings } from '../../contract/settings.ts';
import type { NodeClassFacts, NodeImage, SubnetState } from '../../ports/cloud.ts';
import type { NodeClass } from '../../ports/kubernetes.ts';
import { orNull } from './azure-error.ts';
import type { Clients } from './clients.ts';
import { type ImageDefinition, type ImageFamily, galleryOf, imageDefinitions } from './image-definitions.ts';

/** AKS publishes images about weekly. */
const VERSIONS_KEPT_MS = 60 * 60_000;

/** What Azure says about an AKSNodeClass's subnet and images. */
export function createNodeClassFacts(clients: Clients, settings: Settings, now: () => number): NodeClassFacts {
  const newest = new Map<string, { readonly atMs: number; readonly id: Promise<string | null> }>();
  const newestVersion = (definition: ImageDefinition): Promise<string | null> => {
    const key = `${definition.family}/${definition.definition}`;
    const known = newest.get(key);
    if (known !== undefined && now() - known.atMs < VERSIONS_KEPT_MS) return known.id;
    const id = readNewest(clients, settings.LOCATION, definition);
    newest.set(key, { atMs: now(), id });
    id.catch(() => newest.delete(key));
    return id;
  };
  return {
    subnet: (nodeClass) => readSubnet(clients, settings, nodeClass.spec.vnetSubnetID ?? settings.VNET_SUBNET_ID),
    images: async (nodeClass, kubernetesVersion) => {
      const definitions = definitionsFor(nodeClass, kubernetesVersion);
      const found = await Promise.all(
        definitions.map(async (definition): Promise<ReadonlyArray<NodeImage>> => {
          const id = await newestVersion(definition);
          return id === null ? [] : [{ id, requirements: requirementsOf(definition) }];
        }),
      );
      return found.flat();
    },
  };
}

interface ClassChoices {
  readonly imageFamily?: string;
  readonly fipsMode?: string;
  readonly security?: { readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean } };
}

/** The class's image family resolved for a Kubernetes version. FIPS images are not in the public galleries. */
function definitionsFor({ spec }: NodeClass, kubernetesVersion: string): ReadonlyArray<ImageDefinition> {
  const { imageFamily = 'Ubuntu', fipsMode, security }: ClassChoices = spec;
  if (fipsMode === 'FIPS') return [];
  const { vtpm = false, secureBoot = false } = security?.trustedLaunch ?? {};
  const trustedLaunch = vtpm || secureBoot;
  const minor = Number(kubernetesVersion.split('.')[1] ?? 0);
  const family = resolveFamily(imageFamily, minor, trustedLaunch);
  return imageDefinitions.filter((one) => one.family === family && one.trustedLaunch === trustedLaunch);
}

function resolveFamily(family: string, minor: number, trustedLaunch: boolean): ImageFamily {
  switch (family) {
    case 'Ubuntu2204':
    case 'Ubuntu2404':
      return family;
    case 'AzureLinux':
      return minor >= 32 ? 'AzureLinux3' : 'AzureLinux2';
    default:
      return minor >= 34 && !trustedLaunch ? 'Ubuntu2404' : 'Ubuntu2204';
  }
}

function requirementsOf({ arch, hyperVGeneration }: ImageDefinition): NodeImage['requirements'] {
  return [
    { key: 'kubernetes.io/arch', operator: 'In', values: [arch] },
    { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In', values: [hyperVGeneration] },
  ];
}

async function readNewest(clients: Clients, location: string, definition: ImageDefinition): Promise<string | null> {
  const gallery = galleryOf(definition.family);
  const compute = await clients.compute();
  const versions = await orNull(
    `listing versions of image ${definition.definition}`,
    Array.fromAsync(compute.communityGalleryImageVersions.list(location, gallery, definition.definition)),
  );
  const [latest] = (versions ?? []).toSorted(
    (a, b) => (b.publishedDate?.getTime() ?? 0) - (a.publishedDate?.getTime() ?? 0),
  );
  return latest?.name === undefined
    ? null
    : `/CommunityGalleries/${gallery}/images/${definition.definition}/versions/${latest.name}`;
}

const SUBNET =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/virtualNetworks\/([^/]+)\/subnets\/([^/]+)$/i;

async function readSubnet(clients: Clients, settings: Settings, id: string): Promise<SubnetState> {
  const match = SUBNET.exec(id);
  if (match === null) {
    const message = `${id} is not a subnet id: use /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…`;
    return { kind: 'refused', reason: 'SubnetIDInvalid', message };
  }
  const [, subscription = '', group = '', vnet = '', subnet = ''] = match;
  if (vnetOf(id) !== vnetOf(settings.VNET_SUBNET_ID)) {
    const message = `${id} is outside the cluster's virtual network (subscription ${subscription})`;
    return { kind: 'refused', reason: 'SubnetIDInvalid', message };
  }
  const network = await clients.network();
  const found = await orNull(`reading subnet ${subnet}`, network.subnets.get(group, vnet, subnet));
  if (found === null) return { kind: 'refused', reason: 'SubnetNotFound', message: `subnet ${id} does not exist` };
  return { kind: 'ready' };
}

/** Azure's ids are the same in any case. */
function vnetOf(subnetId: string): string {
  return subnetId.toLowerCase().replace(/\/subnets\/.*$/, '');
}
