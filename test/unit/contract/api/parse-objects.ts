import type { AksNodeClass } from '../../../../shared/contract/api/kinds/aks-node-class.ts';
import { aksNodeClassKind } from '../../../../shared/contract/api/kinds/aks-node-class.ts';
import { capacityBufferKind, type CapacityBuffer } from '../../../../shared/contract/api/kinds/capacity-buffer.ts';
import type { KindDefinition } from '../../../../shared/contract/api/schema/kind.ts';
import { nodeClaimKind, type NodeClaim } from '../../../../shared/contract/api/kinds/node-claim.ts';
import { nodeOverlayKind, type NodeOverlay } from '../../../../shared/contract/api/kinds/node-overlay.ts';
import { nodePoolKind, type NodePool } from '../../../../shared/contract/api/kinds/node-pool.ts';
import { isRecord } from '../../../../shared/contract/api/schema/object-meta.ts';
import { inspect } from '../../../../shared/contract/api/parse.ts';
import { renderProblem, type Problem } from '../../../../shared/contract/api/schema/validation-error.ts';

/** Objects of the API's kinds as types, for tests that are about one kind; what is wrong with one is thrown. */

/** The object is not one that Nodewright can act on. */
export class ApiValidationError extends Error {
  override readonly name = 'ApiValidationError';
  /** The kind that was asked for. */
  readonly kind: string;
  /** The object's name, or empty where it has none. */
  readonly objectName: string;
  /** At least one. */
  readonly problems: ReadonlyArray<Problem>;

  constructor(kind: string, objectName: string, problems: ReadonlyArray<Problem>) {
    super([`${kind} ${objectName} is invalid`, ...problems.map(renderProblem)].join('\n  '));
    this.kind = kind;
    this.objectName = objectName;
    this.problems = problems;
  }
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the border between JSON and types
function parse<Kind>(definition: KindDefinition, value: unknown, previous: unknown): Kind {
  const { object, problems } = inspect(definition, value, previous);
  if (problems.length === 0) return object as unknown as Kind;
  const metadata = object['metadata'];
  const name = isRecord(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  throw new ApiValidationError(definition.kind, name, problems);
}

/**
 * A valid NodePool with its defaults. Throws ApiValidationError; with `previous`, also for changes that are not
 * allowed.
 */
export function parseNodePool(value: unknown, previous?: NodePool): NodePool {
  return parse(nodePoolKind, value, previous);
}

/**
 * A valid NodeClaim with its defaults. Throws ApiValidationError. See `readNodeClaim` for objects from the API server.
 */
export function parseNodeClaim(value: unknown, previous?: NodeClaim): NodeClaim {
  return parse(nodeClaimKind, value, previous);
}

/** A valid NodeOverlay. Throws ApiValidationError. */
export function parseNodeOverlay(value: unknown): NodeOverlay {
  return parse(nodeOverlayKind, value, undefined);
}

/** A valid CapacityBuffer with its defaults. Throws ApiValidationError. */
export function parseCapacityBuffer(value: unknown): CapacityBuffer {
  return parse(capacityBufferKind, value, undefined);
}

/** A valid AKSNodeClass of any served version, with its defaults. Throws ApiValidationError. */
export function parseAksNodeClass(value: unknown): AksNodeClass {
  return parse(aksNodeClassKind, value, undefined);
}
