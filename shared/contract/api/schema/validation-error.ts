/** One thing wrong with an object. */
export interface Problem {
  /** The field, as `spec.template.spec.requirements[0].key`; a key of a map is in brackets. */
  readonly path: string;
  /** What is wrong, for people. */
  readonly message: string;
  /** What to do about it, for people; an instruction. */
  readonly fix: string;
  /** `schema`: the API server refuses it too. `runtime`: it is stored, then reported on the object's status. */
  readonly layer: 'schema' | 'runtime';
}

/** One line: field, what is wrong, what to do. */
export function renderProblem(problem: Problem): string {
  return `${problem.path}: ${problem.message} (${problem.fix})`;
}
