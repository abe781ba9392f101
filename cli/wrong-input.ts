import type { Origin } from './input/read/origin.ts';

/** One thing wrong with what was given. */
export interface InputProblem {
  /** `pods.yaml, document 2`; null where it is the command line. */
  readonly origin: Origin | null;
  /** `Deployment default/web`; empty where no object is known. */
  readonly object: string;
  /** The field, as `spec.template.spec.containers[0]`; empty where the whole is meant. */
  readonly path: string;
  readonly message: string;
  /** An instruction. */
  readonly fix: string;
}

/** Thrown where nothing can be planned before the input is fixed. Exit code 2. */
export class WrongInputError extends Error {
  override readonly name = 'WrongInputError';
  /** At least one. */
  readonly problems: ReadonlyArray<InputProblem>;

  constructor(problems: ReadonlyArray<InputProblem>) {
    super(problems.map(renderInputProblem).join('\n'));
    this.problems = problems;
  }
}

/** One line: file and document, object, field, what is wrong, what to do. */
export function renderInputProblem({ origin, object, path, message, fix }: InputProblem): string {
  const place = [origin ?? '', object, path].filter((part) => part !== '').join(': ');
  return `${place === '' ? '' : `${place}: `}${message} (${fix})`;
}

/** A problem with a file as a whole. */
export function fileProblem(origin: Origin, message: string, fix: string): InputProblem {
  return { origin, object: '', path: '', message, fix };
}

/** A problem with one argument of the command line. */
export function wrongArgument(argument: string, message: string, fix: string): WrongInputError {
  return new WrongInputError([{ origin: null, object: '', path: argument, message, fix }]);
}
