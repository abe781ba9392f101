import type { NodeClaim } from './node-claim.ts';
import { isRecord } from './object-meta.ts';

type Fields = Readonly<Record<string, unknown>>;

const noReference = { group: '', kind: '', name: '' };

function isRequirement(value: unknown): boolean {
  return isRecord(value) && typeof value['key'] === 'string' && typeof value['operator'] === 'string';
}

function isAbsentOrList(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}

function isWhole({ spec, status }: Fields): boolean {
  return (
    isRecord(spec) &&
    isRecord(spec['nodeClassRef']) &&
    Array.isArray(spec['requirements']) &&
    spec['requirements'].every(isRequirement) &&
    isAbsentOrList(spec['taints']) &&
    isAbsentOrList(spec['startupTaints']) &&
    (status === undefined || isRecord(status))
  );
}

function fillSpec(spec: Fields): Fields {
  const { requirements, nodeClassRef, taints, startupTaints, ...others } = spec;
  return {
    ...others,
    nodeClassRef: isRecord(nodeClassRef) ? { ...noReference, ...nodeClassRef } : noReference,
    requirements: Array.isArray(requirements) ? requirements.filter(isRequirement) : [],
    ...(Array.isArray(taints) ? { taints } : {}),
    ...(Array.isArray(startupTaints) ? { startupTaints } : {}),
  };
}

/**
 * A NodeClaim that the API server has already validated, without validating it again: thousands are read in one list.
 * What is whole is given back as it is, not copied. Parts that are missing (an object written before its CRD, or with
 * validation off) are filled in with empty ones: no requirements, a node class without a name. Null where `value` is
 * not an object with a name. Never throws.
 */
export function readNodeClaim(value: unknown): NodeClaim | null {
  if (!isRecord(value) || !isRecord(value['metadata']) || typeof value['metadata']['name'] !== 'string') return null;
  // The API server has checked it against the schema that this type comes from.
  if (isWhole(value)) return value as unknown as NodeClaim;
  const { status, ...rest } = value;
  const spec = fillSpec(isRecord(value['spec']) ? value['spec'] : {});
  return { ...rest, spec, ...(isRecord(status) ? { status } : {}) } as unknown as NodeClaim;
}
