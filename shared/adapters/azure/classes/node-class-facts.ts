import type { Settings } from '../../../contract/settings/settings.ts';
import type { NodeClassFacts, NodeImage, ClassVerdict } from '../../../ports/cloud.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { isNotFound, orNull, readAzureError, toRetryable } from '../calls/azure-error.ts';
import type { Clients } from '../calls/clients.ts';
import type { CompleteSettings } from '../network/complete-settings.ts';
import { choicesOf } from '../bootstrap/class-choices.ts';
import { type ImageDefinition, galleryOf, imageDefinitions } from '../bootstrap/image-definitions.ts';
import { readMaintenance } from './maintenance.ts';
import { isTrustedLaunch, resolveFamily } from '../bootstrap/image-family.ts';

/** AKS publishes images about weekly. */
const VERSIONS_KEPT_MS = 60 * 60_000;

/** What Azure says about an AKSNodeClass's subnet and images. */
export function createNodeClassFacts(
  clients: Clients,
  settings: Settings,
  complete: () => Promise<CompleteSettings>,
  now: () => number,
): NodeClassFacts {
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
    deployment: () => judgeDeployment(clients, complete),
    kubeletIdentity: async () => {
      const { settings: known, problems } = await complete();
      // What is wrong with one setting is said of the deployment; no node drifts for it.
      return problems.length > 0 ? null : (known.KUBELET_IDENTITY_CLIENT_ID ?? null);
    },
    maintenance: () => readMaintenance(clients, settings.MAINTENANCE_CONFIGURATION_ID),
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

/** What every class depends on: settings, and the key that disks are encrypted with. */
async function judgeDeployment(clients: Clients, complete: () => Promise<CompleteSettings>): Promise<ClassVerdict> {
  const { settings, problems } = await complete();
  if (problems.length > 0) return { kind: 'refused', reason: 'SettingsMissing', message: problems.join('; ') };
  const { NODE_OSDISK_DISKENCRYPTIONSET_ID: id } = settings;
  return id === undefined ? { kind: 'ready' } : judgeEncryptionSet(clients, id);
}

/** Karpenter's provider looks for it as well, and calls a missing right by this reason. */
async function judgeEncryptionSet(clients: Clients, id: string): Promise<ClassVerdict> {
  const [, , , , group = '', , , , name = ''] = id.split('/');
  const refused = (reason: string, message: string): ClassVerdict => ({ kind: 'refused', reason, message });
  try {
    await (await clients.compute()).diskEncryptionSets.get(group, name);
    return { kind: 'ready' };
  } catch (error) {
    const { status } = readAzureError(error);
    if (status === 401 || status === 403)
      return refused(
        'DiskEncryptionSetRBACMissing',
        `the app's identity may not read ${id}: give it Microsoft.Compute/diskEncryptionSets/read there`,
      );
    if (status === 404) return refused('DiskEncryptionSetNotFound', `disk encryption set ${id} does not exist`);
    throw toRetryable(`reading disk encryption set ${name}`, error);
  }
}

/** The class's image family resolved for a Kubernetes version. FIPS images are not in the public galleries. */
export function definitionsFor(nodeClass: NodeClass, kubernetesVersion: string): ReadonlyArray<ImageDefinition> {
  const choices = choicesOf(nodeClass);
  if (choices.fipsMode === 'FIPS') return [];
  const family = resolveFamily(choices, kubernetesVersion);
  const trustedLaunch = isTrustedLaunch(choices.security);
  return imageDefinitions.filter((one) => one.family === family && one.trustedLaunch === trustedLaunch);
}

export function requirementsOf({ arch, hyperVGeneration }: ImageDefinition): NodeImage['requirements'] {
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
    isAbsentImage,
  );
  const [latest] = (versions ?? [])
    // Whoever publishes marks so what is not to be taken without being asked for.
    .filter(({ excludeFromLatest }) => excludeFromLatest !== true)
    .toSorted((a, b) => (b.publishedDate?.getTime() ?? 0) - (a.publishedDate?.getTime() ?? 0));
  return latest?.name === undefined ? null : imageId(definition, latest.name);
}

/** Not every image is in every region, and Azure names a gallery, an image and its versions in codes of their own. */
function isAbsentImage(error: unknown): boolean {
  const { status, code } = readAzureError(error);
  return status === 404 && code.endsWith('NotFound') && code !== 'SubscriptionNotFound';
}

/** As a VM names an image of a community gallery. */
export function imageId({ family, definition }: ImageDefinition, version: string): string {
  return `/CommunityGalleries/${galleryOf(family)}/images/${definition}/versions/${version}`;
}

const SUBNET =
  /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/virtualNetworks\/([^/]+)\/subnets\/([^/]+)$/i;

async function readSubnet(clients: Clients, settings: Settings, id: string): Promise<ClassVerdict> {
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
  const found = await orNull(`reading subnet ${subnet}`, network.subnets.get(group, vnet, subnet), isAbsentSubnet);
  if (found === null) return { kind: 'refused', reason: 'SubnetNotFound', message: `subnet ${id} does not exist` };
  return { kind: 'ready' };
}

/** A subnet goes with its group as well. */
function isAbsentSubnet(error: unknown): boolean {
  return isNotFound(error) || readAzureError(error).code === 'ResourceGroupNotFound';
}

/** Azure's ids are the same in any case. */
function vnetOf(subnetId: string): string {
  return subnetId.toLowerCase().replace(/\/subnets\/.*$/, '');
}
