import type { Clock } from '../../base/clock.ts';
import { listAt, textAt } from '../arm/json.ts';
import { readJson } from './sizes.ts';

const DAY = 86_400_000;

/** AKS publishes node images about weekly; the double starts with this many of each. */
const VERSIONS = 4;

/** What a VM needs to know of the image it starts from. */
export interface ImageFacts {
  readonly name: string;
  readonly generation: 'V1' | 'V2';
  readonly architecture: 'x64' | 'Arm64';
  readonly isTrustedLaunch: boolean;
  readonly diskGb: number;
}

/** AKS's definitions say so, and AKSNodeClass takes no smaller disk; other images of Linux have as many. */
export const IMAGE_DISK_GB = 30;

/**
 * The versions of AKS's community gallery images. They do not change while the double runs, unless one is published.
 */
export class ImageShelf {
  readonly #images = new Map<string, Array<string>>();
  readonly #facts = new Map<string, ImageFacts>();
  readonly #region: string;

  constructor(folder: string, region: string, clock: Clock) {
    this.#region = region;
    const weekly = Array.from({ length: VERSIONS }, (_, week) => versionOf(clock.now() - (VERSIONS - week) * 7 * DAY));
    for (const row of listAt(readJson(folder, 'images.json'), 'images')) {
      const [gallery, definition] = [textAt(row, 'gallery'), textAt(row, 'definition')];
      if (gallery === null || definition === null) continue;
      this.#images.set(`${gallery}/${definition}`.toLowerCase(), [...weekly]);
      this.#facts.set(definition.toLowerCase(), {
        name: definition,
        generation: textAt(row, 'hyperVGeneration') === '1' ? 'V1' : 'V2',
        architecture: textAt(row, 'arch') === 'arm64' ? 'Arm64' : 'x64',
        isTrustedLaunch: definition.includes('TL'),
        diskGb: IMAGE_DISK_GB,
      });
    }
  }

  /** Adds a version, `202611.20.0`, to every image: what drift detection waits for. */
  publish(version: string): void {
    for (const versions of this.#images.values()) if (!versions.includes(version)) versions.push(version);
  }

  /** What AKS's images of a definition are, in whatever gallery; null for a definition that is none of AKS's. */
  facts(definition: string): ImageFacts | null {
    return this.#facts.get(definition.toLowerCase()) ?? null;
  }

  /** The versions of one image, oldest first; null for an image that is not in the gallery. */
  versions(gallery: string, image: string): ReadonlyArray<object> | null {
    const versions = this.#images.get(`${gallery}/${image}`.toLowerCase());
    if (versions === undefined) return null;
    return versions.map((name) => ({
      name,
      location: this.#region,
      identifier: { uniqueId: `/CommunityGalleries/${gallery}/Images/${image}/Versions/${name}` },
      properties: {
        publishedDate: publishedOf(name),
        excludeFromLatest: false,
        storageProfile: { osDiskImage: { diskSizeGB: IMAGE_DISK_GB, hostCaching: 'ReadWrite' } },
      },
    }));
  }
}

function versionOf(atMs: number): string {
  const [year = '', month = '', day = ''] = new Date(atMs).toISOString().slice(0, 10).split('-');
  return `${year}${month}.${day}.0`;
}

function publishedOf(version: string): string {
  const [, year, month, day] = /^(\d{4})(\d{2})\.(\d{1,2})\.\d+$/.exec(version) ?? [];
  return `${year ?? '2026'}-${month ?? '01'}-${(day ?? '1').padStart(2, '0')}T00:00:00Z`;
}
