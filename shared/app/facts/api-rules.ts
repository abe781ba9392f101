import type { AksNodeClass } from '../../contract/api/kinds/aks-node-class.ts';
import * as hash from '../../contract/api/hash.ts';
import type { NodePool as ApiNodePool } from '../../contract/api/kinds/node-pool.ts';
import type { NodeOverlay as ApiNodeOverlay } from '../../contract/api/kinds/node-overlay.ts';
import { nodeOverlayRuntimeProblems, nodePoolRuntimeProblems } from '../../contract/api/runtime-rules.ts';
import { renderProblem } from '../../contract/api/schema/validation-error.ts';
import type { NodeOverlay, NodePool } from '../../kubernetes/manifest.ts';
import type { NodeClass } from '../../ports/kubernetes.ts';

/**
 * The rules of the API types, for objects that the API server has validated: what the core reads of them is looser than
 * what the schema says, and only that is asserted here.
 */

/** Hashes of pools already asked for: a plan asks twice per claim, and an object that was read never changes. */
const poolHashes = new WeakMap<NodePool, string>();

/** Karpenter's static drift hash of a pool, decimal. */
export function poolHash(pool: NodePool): string {
  const known = poolHashes.get(pool) ?? hash.nodePoolHash(pool as ApiNodePool);
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  poolHashes.set(pool, known);
  return known;
}

/** The Azure provider's static drift hash of a node class, decimal. */
export function classHash(nodeClass: NodeClass): string {
  return hash.nodeClassHash(nodeClass as unknown as AksNodeClass);
}

/**
 * What is wrong with a pool that the API server cannot see, each with its field and its fix; empty when nothing is
 * wrong.
 */
export function poolProblems(pool: NodePool): ReadonlyArray<string> {
  return nodePoolRuntimeProblems(pool as ApiNodePool).map(renderProblem);
}

/** The overlays that may change something: those without problems. */
export function usableOverlays(overlays: ReadonlyArray<NodeOverlay>): ReadonlyArray<NodeOverlay> {
  return overlays.filter((one) => overlayProblems(one).length === 0);
}

/** As `poolProblems`, of an overlay. */
export function overlayProblems(overlay: NodeOverlay): ReadonlyArray<string> {
  return nodeOverlayRuntimeProblems(overlay as ApiNodeOverlay).map(renderProblem);
}

export const POOL_HASH_VERSION: string = hash.NODE_POOL_HASH_VERSION;
export const CLASS_HASH_VERSION: string = hash.NODE_CLASS_HASH_VERSION;
