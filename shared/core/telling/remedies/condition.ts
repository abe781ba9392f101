import type { LabelRule } from '../../rules/label-rule.ts';

/**
 * One thing that a new node must meet: what the pool requires of a label, what the pod asks of it, or the pod's size.
 */
export type Condition = { readonly met: Int32Array } & (
  { readonly of: 'pool' | 'pod'; readonly key: string; readonly rule: LabelRule } | { readonly of: 'size' }
);
