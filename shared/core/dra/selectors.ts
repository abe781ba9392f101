import type { PublishedDevice } from '../model/device-manifest.ts';

/** What a selector looks at. */
export interface SelectedDevice {
  readonly driver: string;
  readonly device: PublishedDevice;
}

/** Whether a selector takes a device, or why it cannot be said. */
export type Verdict = boolean | { readonly error: string };

export type DevicePredicate = (device: SelectedDevice) => Verdict;

/** Reads a CEL selector of devices, or says what is wrong with it. Pure: one text always has one meaning. */
export type CompileSelector = (expression: string) => DevicePredicate | { readonly error: string };

/** Answers which devices an expression takes. Each question is asked once. */
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
