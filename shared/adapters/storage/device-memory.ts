import { gunzipSync, gzipSync } from 'node:zlib';
import { NO_TEMPLATES, type DeviceTemplates } from '../../core/model/device-templates.ts';
import type { ResourceSliceSpec } from '../../kubernetes/device-manifest.ts';
import type { DeviceMemory } from '../../ports/store.ts';
import type { Blobs } from '../../ports/blobs.ts';

/** As the blob keeps it. */
interface Stored {
  readonly version: 1;
  readonly pools: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<ResourceSliceSpec>>>>>;
}

/** What nodes of a cluster published, as the blob `<cluster>/devices.json.gz`. */
export function createDeviceMemory(blobs: Blobs, cluster: string): DeviceMemory {
  const name = `${cluster}/devices.json.gz`;
  let read: { readonly etag: string } | 'absent' = 'absent';
  return {
    read: async () => {
      const blob = await blobs.read(name);
      read = blob === null ? 'absent' : { etag: blob.etag };
      return blob === null ? NO_TEMPLATES : parseStored(blob.bytes);
    },
    write: async (templates) => {
      const pools = Object.fromEntries([...templates].map(([pool, types]) => [pool, Object.fromEntries(types)]));
      const stored: Stored = { version: 1, pools };
      await blobs.write(name, gzipSync(JSON.stringify(stored)), read);
    },
  };
}

/** Nothing for a blob that cannot be read: it is learned again. */
function parseStored(bytes: Uint8Array): DeviceTemplates {
  try {
    const { version, pools } = JSON.parse(gunzipSync(bytes).toString('utf8')) as Stored;
    if (version !== 1) return NO_TEMPLATES;
    return new Map(Object.entries(pools).map(([pool, types]) => [pool, new Map(Object.entries(types))]));
  } catch {
    return NO_TEMPLATES;
  }
}
