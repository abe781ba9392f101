import type { CompileSelector, SelectedDevice, Verdict } from '../model/device-selector.ts';

/** Returns which devices an expression takes. Each question is asked once. */
export interface Matcher {
  readonly compile: CompileSelector;
  readonly takes: (expression: string, id: string, device: SelectedDevice) => Verdict;
}

/** A matcher that knows no answers yet. `id` tells one device from all others. */
export function createMatcher(compile: CompileSelector): Matcher {
  const predicates = new Map<string, ReturnType<CompileSelector>>();
  const verdicts = new Map<string, Map<string, Verdict>>();
  const predicateOf: CompileSelector = (expression) => {
    const known = predicates.get(expression) ?? compile(expression);
    predicates.set(expression, known);
    return known;
  };
  return {
    compile: predicateOf,
    takes: (expression, id, device) => {
      const byDevice = verdicts.get(expression) ?? new Map<string, Verdict>();
      verdicts.set(expression, byDevice);
      const predicate = predicateOf(expression);
      const verdict = byDevice.get(id) ?? (typeof predicate === 'function' ? predicate(device) : predicate);
      byDevice.set(id, verdict);
      return verdict;
    },
  };
}
