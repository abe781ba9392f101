import { aksNodeClassKind } from '../../shared/contract/api/kinds/aks-node-class.ts';
import { nodePoolKind } from '../../shared/contract/api/kinds/node-pool.ts';
import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import { readBySchema } from '../../shared/contract/api/schema/structural.ts';
import type { Fields, Manifest } from '../documents/converted-manifest.ts';

/** What one object became. `notes`: what was left out, or is to be looked at. */
export interface Converted {
  readonly manifests: ReadonlyArray<Manifest>;
  readonly notes: ReadonlyArray<string>;
}

/** The value's fields; none where it is no map. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Without the entries that say nothing: null, undefined and empty maps and lists. */
export function compact(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => {
      if (value === null || value === undefined) return false;
      if (Array.isArray(value)) return value.length > 0;
      return !isRecord(value) || Object.keys(value).length > 0;
    }),
  );
}

/** What the API server keeps about a stored object, and what others have noted on it. */
const RUNTIME_ANNOTATIONS = /^kubectl\.kubernetes\.io\/|^karpenter\.sh\/|^karpenter\.azure\.com\/|^meta\.helm\.sh\//;

/** Name, labels and annotations that people have written. */
export function metadataOf(value: unknown): Manifest['metadata'] {
  const { name, labels, annotations } = fieldsOf(value);
  const own = Object.entries(fieldsOf(annotations)).filter(([key]) => !RUNTIME_ANNOTATIONS.test(key));
  const kept = compact({ labels, annotations: Object.fromEntries(own) });
  return { name: textOf(name) ?? 'default', ...kept };
}

const KINDS = { NodePool: nodePoolKind, AKSNodeClass: aksNodeClassKind } as const;

/** The manifest without fields that its kind does not have, and what is wrong with it still. */
export function checked(manifest: Manifest): Converted {
  const { kind, metadata, spec } = manifest;
  const { value, problems, unknown } = readBySchema(KINDS[kind].spec, spec, 'spec');
  const name = `${kind} ${metadata.name}`;
  return {
    manifests: [{ ...manifest, spec: problems.length > 0 ? spec : withoutDefaults(spec, fieldsOf(value)) }],
    notes: [
      ...unknown.map((path) => `${name}: ${path} is left out: the kind has no such field`),
      ...problems.map(({ path, message, fix }) => `${name}: ${path}: ${message} (${fix})`),
    ],
  };
}

/** `read` has defaults that nobody wrote, and lacks what nobody knows: of what was written, what is known. */
function withoutDefaults(written: Fields, read: Fields): Fields {
  const kept = Object.fromEntries(
    Object.entries(written).flatMap(([key, value]): ReadonlyArray<readonly [string, unknown]> => {
      if (!(key in read)) return [];
      const known = read[key];
      return [[key, isRecord(value) && isRecord(known) ? withoutDefaults(value, known) : value]];
    }),
  );
  return compact(kept);
}
