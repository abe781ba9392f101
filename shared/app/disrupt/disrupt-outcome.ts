export type DisruptOutcome =
  | { readonly kind: 'no-snapshot' }
  /** The claims of the last decision are being created: whatever is decided now would not know them. */
  | { readonly kind: 'executing' }
  /** Switched off. `takenBack`: nodes that had been marked to go, and stay. */
  | { readonly kind: 'off'; readonly takenBack: number }
  /** Every node has a reason to stay. */
  | { readonly kind: 'idle' }
  /** What has begun is not ready, or pods get nodes first. */
  | { readonly kind: 'waiting'; readonly for: string }
  | { readonly kind: 'begun'; readonly decision: string; readonly nodes: number; readonly replacements: number }
  | { readonly kind: 'finished'; readonly removed: number; readonly takenBack: number }
  /** The nodes may go, and what would come in their place does not hold up. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Decided, and not begun: what would come in their place could not be made, or a node may not be closed. */
  | { readonly kind: 'denied'; readonly decision: string; readonly why: string }
  /** Another plan came first. */
  | { readonly kind: 'lost' };
