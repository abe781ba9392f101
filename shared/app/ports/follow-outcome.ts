import type { NodeClaim } from '../../kubernetes/manifest.ts';

/** Where following leaves an object for now. */
export type FollowOutcome =
  /** Go on; `claim` is what the API server has now. */
  | { readonly kind: 'next'; readonly claim: NodeClaim }
  /** Nothing more can be done until something happens, or until `lookAgainMs`. */
  | { readonly kind: 'wait'; readonly for: string; readonly lookAgainMs: number | null }
  /** The claim is gone, or on its way out. */
  | { readonly kind: 'ended'; readonly why: string };
