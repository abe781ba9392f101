import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import { diskControllers, type DiskController, type Size } from '../catalog/sizes.ts';
import type { ImageFacts, ImageShelf } from '../catalog/images.ts';
import { textAt, type JsonObject } from '../arm/json.ts';

const COMMUNITY = /^\/CommunityGalleries\/([^/]+)\/Images\/([^/]+)\/Versions\/[^/]+$/i;
const SHARED = /\/galleries\/[^/]+\/images\/([^/]+)(?:\/versions\/[^/]+)?$/i;

/**
 * What the image of a body is; null where nothing is known of it: an image of somebody's own, or a double without a
 * shelf. Refuses a community image that there is not, with ARM's code and its words from memory; of the version nothing
 * is asked. The code of what is no such id is assumed.
 */
export function admitImage(images: ImageShelf | null, body: JsonObject, region: string): ImageFacts | null {
  const path = 'properties.storageProfile.imageReference';
  const community = textAt(body, `${path}.communityGalleryImageId`);
  const [, gallery, definition] = COMMUNITY.exec(community ?? '') ?? [];
  if (community !== null && (gallery === undefined || definition === undefined))
    throw invalidParameter(
      'imageReference.communityGalleryImageId',
      'The value of parameter imageReference.communityGalleryImageId is invalid.',
    );
  if (images === null) return null;
  if (gallery === undefined || definition === undefined)
    return images.facts(SHARED.exec(textAt(body, `${path}.id`) ?? '')?.[1] ?? '');
  if (images.versions(gallery, definition) !== null) return images.facts(definition);
  throw new ArmError(
    404,
    {
      code: 'GalleryImageNotFound',
      message:
        `The gallery image ${community ?? ''} is not available in ${region} region. Please contact image owner to ` +
        'replicate to this region, or change your requested region.',
    },
    { target: 'imageReference' },
  );
}

/**
 * Refuses an image that the size cannot boot. All are as reported, the first in ga4gh-tes#43, the last in
 * image-builder#1875: the size has no disk controller that the image is tagged for.
 */
export function refuseUnbootable(image: ImageFacts, size: Size, tagged: ReadonlyArray<DiskController>): void {
  const generations = (size.capabilities['HyperVGenerations'] ?? '').split(',');
  if (!generations.includes(image.generation)) {
    const generation = image.generation.slice(1);
    throw new ArmError(400, {
      code: 'BadRequest',
      message:
        `The selected VM size '${size.name}' cannot boot Hypervisor Generation '${generation}'. If this was a Create ` +
        'operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the ' +
        `selected VM Size. If this was an Update operation please select a Hypervisor Generation '${generation}' VM Size.`,
    });
  }
  const architecture = size.capabilities['CpuArchitectureType'] ?? 'x64';
  if (architecture !== image.architecture)
    throw new ArmError(400, {
      code: 'BadRequest',
      message:
        `Cannot create a VM of size '${size.name}' because this VM size only supports a CPU Architecture of ` +
        `'${architecture}', but an image or disk with CPU Architecture '${image.architecture}' was given. ` +
        'Please check that the CPU Architecture of the image or disk is compatible with that of the VM size.',
    });
  if (!diskControllers(size).some((controller) => tagged.some((tag) => tag === controller)))
    throw invalidParameter(
      'vmSize',
      `The VM size '${size.name}' cannot boot with OS image or disk. Please check that disk controller types supported by ` +
        'the OS image or disk is one of the supported disk controller types for the VM size ' +
        `'${size.name}'. Please query sku api at https://aka.ms/azure-compute-skus  to determine supported disk controller ` +
        'types for the VM size.',
    );
}
