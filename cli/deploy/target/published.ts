import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What belongs to the package that was published, beside its code. A checkout has no such file, and builds its own
 * image.
 */
const RELEASE = 'release.json';

/** What a published package has for who says nothing: its own image in place of one that is built. */
export interface Published {
  readonly variables: Readonly<Record<string, string>> & { readonly NODEWRIGHT_RELAY_IMAGE: string };
}

/** Null in a checkout. `root`: the package's folder. */
export function readPublished(root: string): Published | null {
  const file = join(root, RELEASE);
  if (!existsSync(file)) return null;
  const { relayImage } = JSON.parse(readFileSync(file, 'utf8')) as { readonly relayImage: string };
  return { variables: { NODEWRIGHT_CREATE_REGISTRY: 'false', NODEWRIGHT_RELAY_IMAGE: relayImage } };
}

/** Whether an image is that of a release, of this version or another: who names one has chosen none of their own. */
export function isReleased(image: string, published: Published | null): boolean {
  const [repository, digest] = image.split('@');
  return digest !== undefined && repository === published?.variables.NODEWRIGHT_RELAY_IMAGE.split('@')[0];
}
