import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What belongs to the package that was published, beside its code. A checkout has no such file, and builds its own
 * image.
 */
const RELEASE = 'release.json';

/**
 * The variables that a published package has for who says nothing: its own image in place of one that is built. `root`:
 * its folder.
 */
export function publishedDefaults(root: string): Readonly<Record<string, string>> {
  const file = join(root, RELEASE);
  if (!existsSync(file)) return {};
  const { relayImage } = JSON.parse(readFileSync(file, 'utf8')) as { readonly relayImage: string };
  return { NODEWRIGHT_CREATE_REGISTRY: 'false', NODEWRIGHT_RELAY_IMAGE: relayImage };
}
