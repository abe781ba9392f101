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

/** Thrown by the parsers of the API's kinds: the object is not one that Nodewright can act on, and no retry helps. */
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

/** One line: field, what is wrong, what to do. */
export function renderProblem(problem: Problem): string {
  return `${problem.path}: ${problem.message} (${problem.fix})`;
}
