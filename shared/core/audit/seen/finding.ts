/**
 * What a finding is about: a planned claim by its place in the plan, a NodePool, an existing node or claim, all pods of
 * a shape, a pod.
 */
export type Subject =
  | { readonly kind: 'planned'; readonly index: number }
  | { readonly kind: 'pool'; readonly name: string }
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'shape'; readonly shape: number }
  | { readonly kind: 'pod'; readonly uid: string };

/** One thing that is wrong with a plan. A plan with a `fatal` finding must not be executed. */
export interface Finding {
  readonly severity: 'fatal' | 'warning';
  readonly rule: string;
  readonly text: string;
  /** What it names; without that the plan would not have it. Empty where it is about the plan as a whole. */
  readonly about: ReadonlyArray<Subject>;
}

export function fatal(rule: string, text: string, ...about: ReadonlyArray<Subject>): Finding {
  return { severity: 'fatal', rule, text, about };
}

export function warning(rule: string, text: string): Finding {
  return { severity: 'warning', rule, text, about: [] };
}

/** The subject that a node of the plan's final state is. */
export function subjectOf({ name, plannedIndex }: { readonly name: string; readonly plannedIndex: number }): Subject {
  return plannedIndex < 0 ? { kind: 'node', name } : { kind: 'planned', index: plannedIndex };
}
