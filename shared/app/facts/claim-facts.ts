import { annotation, label } from '../../contract/names.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';

/**
 * What ties a line of the log to others: the claim, its pool, and the decision it comes from; null where it has none.
 */
export interface ClaimFacts {
  readonly claim: string;
  readonly nodePool: string | null;
  readonly decision: string | null;
}

/**
 * By these a reader of the portal goes from a decision to its claims, and from a machine, which is named after its
 * claim, back.
 */
export function claimFacts({ metadata }: Pick<NodeClaim, 'metadata'>): ClaimFacts {
  return {
    claim: metadata.name,
    nodePool: metadata.labels?.[label.nodePool] ?? null,
    decision: metadata.annotations?.[annotation.decision] ?? null,
  };
}

/** What the claim's machine is, as far as it has been launched. */
export interface MachineFacts {
  readonly instanceType: string | null;
  readonly zone: string | null;
  readonly capacityType: string | null;
}

/** As its labels say. */
export function machineFacts({ metadata: { labels = {} } }: Pick<NodeClaim, 'metadata'>): MachineFacts {
  return {
    instanceType: labels[label.instanceType] ?? null,
    zone: labels[label.zone] ?? null,
    capacityType: labels[label.capacityType] ?? null,
  };
}
