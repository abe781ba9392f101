import { aksNodeClassKind } from './kinds/aks-node-class.ts';
import { capacityBufferKind } from './kinds/capacity-buffer.ts';
import type { KindDefinition } from './schema/kind.ts';
import { nodeClaimKind } from './kinds/node-claim.ts';
import { nodeOverlayKind, type NodeOverlay } from './kinds/node-overlay.ts';
import { nodePoolKind, type NodePool } from './kinds/node-pool.ts';
import { isRecord, metadataProblems } from './schema/object-meta.ts';
import { nodeOverlayRuntimeProblems, nodePoolRuntimeProblems } from './runtime-rules.ts';
import { readBySchema } from './schema/structural.ts';
import { didYouMean } from '../../kubernetes/text/word-meant.ts';
import type { Problem } from './schema/validation-error.ts';

/** Every kind that Nodewright defines or reads, in the order in which their CRDs are applied. */
export const kinds: ReadonlyArray<KindDefinition> = [
  nodePoolKind,
  nodeClaimKind,
  nodeOverlayKind,
  aksNodeClassKind,
  capacityBufferKind,
];

/** What is to be said about an object. */
export interface Inspection {
  /**
   * The object with defaults and without unknown fields, as the API server would store it; partial where it would not.
   */
  readonly object: Readonly<Record<string, unknown>>;
  /** Empty where the object is valid, and where Karpenter would use it. */
  readonly problems: ReadonlyArray<Problem>;
  /**
   * Paths of fields that the API does not know, each with the one that was probably meant, or its new place. The API
   * server drops them; `kubectl apply` refuses them.
   */
  readonly unknownFields: ReadonlyArray<string>;
}

/** The definition of a kind that is served under this `apiVersion`, or null where the object is not one of ours. */
export function kindOf(value: unknown): KindDefinition | null {
  if (!isRecord(value)) return null;
  return kinds.find((each) => each.kind === value['kind'] && isServed(each, value['apiVersion'])) ?? null;
}

const topLevelFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

function isServed(definition: KindDefinition, apiVersion: unknown): boolean {
  return definition.versions.some(({ name }) => apiVersion === `${definition.group}/${name}`);
}

/**
 * Judges any value as an object of `definition`, as the API server would and then Karpenter. Never throws. `previous`
 * is the stored object that `value` would replace: with it, fields that may not change are judged too.
 */
export function inspect(definition: KindDefinition, value: unknown, previous?: unknown): Inspection {
  const problems: Array<Problem> = [];
  const add = (path: string, message: string, fix: string): void => {
    problems.push({ path, message, fix, layer: 'schema' });
  };
  if (!isRecord(value)) {
    add('', 'is not an object', `write a ${definition.kind}`);
    return { object: {}, problems, unknownFields: [] };
  }
  if (value['kind'] !== definition.kind) add('kind', 'is another kind', `set it to ${definition.kind}`);
  if (!isServed(definition, value['apiVersion'])) {
    const given = typeof value['apiVersion'] === 'string' ? `${value['apiVersion']} ` : '';
    add('apiVersion', `${given}is not served`, `set it to ${definition.group}/${definition.versions[0].name}`);
  }
  problems.push(...metadataProblems(value['metadata'], definition.scope === 'Namespaced'));
  const old = isRecord(previous) ? previous['spec'] : undefined;
  const spec = readPart(definition, value['spec'], { field: 'spec', previous: old });
  const status = readPart(definition, value['status'], { field: 'status', previous: undefined });
  problems.push(...spec.problems);
  const { apiVersion, kind, metadata } = value;
  // The API server ignores the status of what is created, and has itself checked that of what it stores.
  const object = { apiVersion, kind, metadata, ...spec.part, ...(status.problems.length === 0 ? status.part : {}) };
  const unknownFields = Object.keys(value)
    .filter((key) => !topLevelFields.has(key))
    .map((key) => `${key}${didYouMean(key, topLevelFields)}`);
  if (problems.length === 0) problems.push(...runtimeProblems(object));
  const inside = [...spec.unknown, ...status.unknown].map((path) => withNewPlace(definition, path));
  return { object, problems, unknownFields: [...unknownFields, ...inside] };
}

function withNewPlace({ moved }: KindDefinition, path: string): string {
  const place = Object.hasOwn(moved, path) ? moved[path] : undefined;
  return place === undefined ? path : `${path} (write it as ${place})`;
}

interface Part {
  readonly part: Readonly<Record<string, unknown>>;
  readonly problems: ReadonlyArray<Problem>;
  readonly unknown: ReadonlyArray<string>;
}

function readPart(
  definition: KindDefinition,
  value: unknown,
  { field, previous }: { readonly field: 'spec' | 'status'; readonly previous: unknown },
): Part {
  const isRequired = field === 'spec' && definition.specRequired;
  if (value === undefined || value === null) {
    // A class without a spec is stored without its defaults, and its hash must not see any.
    if (!isRequired) return { part: field === 'spec' ? { spec: {} } : {}, problems: [], unknown: [] };
    return {
      part: {},
      problems: [{ path: field, message: 'is missing', fix: 'set it', layer: 'schema' }],
      unknown: [],
    };
  }
  const reading = readBySchema(definition[field], value, field, previous);
  return { part: { [field]: reading.value }, problems: reading.problems, unknown: reading.unknown };
}

/** Called only with objects that have passed their schema, which is what makes them these types. */
function runtimeProblems(object: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> {
  if (object['kind'] === 'NodePool') return nodePoolRuntimeProblems(object as unknown as NodePool);
  if (object['kind'] === 'NodeOverlay') return nodeOverlayRuntimeProblems(object as unknown as NodeOverlay);
  return [];
}
