import { ArmError } from '../arm-error.ts';
import { textAt, type JsonObject } from '../json.ts';
import type { Size } from '../sizes.ts';

/** What a VM needs to know of the image it starts from. */
export interface ImageFacts {
  readonly name: string;
  readonly generation: 'V1' | 'V2';
  readonly architecture: 'x64' | 'Arm64';
  readonly isTrustedLaunch: boolean;
  readonly diskGb: number;
}

/** AKS's node images: their definitions say 30 GB, and AKSNodeClass takes no smaller disk. */
const AKS_DISK_GB = 30;

const COMMUNITY = /^\/CommunityGalleries\/[^/]+\/Images\/([^/]+)\/Versions\/[^/]+$/i;
const SHARED = /\/galleries\/[^/]+\/images\/([^/]+)(?:\/versions\/[^/]+)?$/i;

/** Reads an image off its name: AKS names them by generation, architecture and security type (data/images.json). Null for other images. */
export function imageFacts(body: JsonObject): ImageFacts | null {
  const path = 'properties.storageProfile.imageReference';
  const id = textAt(body, `${path}.communityGalleryImageId`) ?? textAt(body, `${path}.id`) ?? '';
  const name = COMMUNITY.exec(id)?.[1] ?? SHARED.exec(id)?.[1];
  if (name === undefined || !/^(?:\d{4}|V\d)/i.test(name)) return null;
  return {
    name,
    generation: /gen2/i.test(name) ? 'V2' : 'V1',
    architecture: /arm64/i.test(name) ? 'Arm64' : 'x64',
    isTrustedLaunch: /TL/.test(name),
    diskGb: AKS_DISK_GB,
  };
}

/** Refuses an image that the size cannot boot. The first is as reported (ga4gh-tes#43), the code of the second is assumed. */
export function refuseUnbootable(image: ImageFacts, size: Size): void {
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
        `'${architecture}', but an image or disk with CPU Architecture '${image.architecture}' was given.`,
    });
}
