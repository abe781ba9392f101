import type { NodeClaim } from './node-claim.ts';
import { isRecord } from './object-meta.ts';

const noReference = { group: '', kind: '', name: '' };

function isRequirement(value: unknown): boolean {
  return isRecord(value) && typeof value['key'] === 'string' && typeof value['operator'] === 'string';
}

/**
 * A NodeClaim that the API server has already validated, without validating it again: thousands are read in one list.
 * What is whole is given back as it is, not copied. Parts that are missing (an object written before its CRD, or with
 * validation off) are filled in with empty ones: no requirements, a node class without a name. Null where `value` is
 * not an object with a name. Never throws.
 */
export function readNodeClaim(value: unknown): NodeClaim | null {
  if (!isRecord(value) || !isRecord(value['metadata']) || typeof value['metadata']['name'] !== 'string') return null;
  const spec = isRecord(value['spec']) ? value['spec'] : {};
  const { requirements, nodeClassRef, taints, startupTaints } = spec;
  const isWhole =
    spec === value['spec'] &&
    isRecord(nodeClassRef) &&
    Array.isArray(requirements) &&
    requirements.every(isRequirement) &&
    isAbsentOrList(taints) &&
    isAbsentOrList(startupTaints);
  // The API server has checked it against the schema that this type comes from.
  if (isWhole && (value['status'] === undefined || isRecord(value['status']))) return value as unknown as NodeClaim;
  const { status: statusOrNull, ...rest } = value;
  const { taints: _taints, startupTaints: _startupTaints, ...others } = spec;
  return {
    ...rest,
    spec: {
      ...others,
      nodeClassRef: isRecord(nodeClassRef) ? { ...noReference, ...nodeClassRef } : noReference,
      requirements: Array.isArray(requirements) ? requirements.filter(isRequirement) : [],
      ...(Array.isArray(taints) ? { taints } : {}),
      ...(Array.isArray(startupTaints) ? { startupTaints } : {}),
    },
    ...(isRecord(statusOrNull) ? { status: statusOrNull } : {}),
  } as unknown as NodeClaim;
}

function isAbsentOrList(value: unknown): boolean {
  return value === undefined || Array.isArray(value);
}
