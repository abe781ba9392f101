import { nearNames } from './near-names.ts';

/** One `NAME=VALUE` that the sandbox was given, on the command line or in a file. */
export interface Assignment {
  /** What a message begins with, the name included: `--setting FEATURE_GATES`, `lab.yaml: settings.FEATURE_GATES`. */
  readonly field: string;
  readonly name: string;
  /** May hold `=` and `,`. */
  readonly value: string;
}

/** Reads the argument of `option`, such as `--quota cores=8`. Throws an Error that shows how it is written. */
export function parseAssignment(option: string, text: string, example: string): Assignment {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(0, at)).trim();
  if (name === '') throw new Error(`${option} ${text}: write NAME=VALUE, as in ${option} ${example}`);
  return { field: `${option} ${name}`, name, value: text.slice(at + 1).trim() };
}

/**
 * The problem of a name that nothing has. `what` is what it should name; `otherwise` is said where no name is near, in
 * place of all `names`.
 */
export function unknownName(
  { field, name }: Assignment,
  what: string,
  names: ReadonlyArray<string>,
  otherwise = `there are ${names.join(', ')}`,
): string {
  const near = nearNames(name, names);
  return `${field}: there is no such ${what}; ${near.length === 0 ? otherwise : `did you mean ${near.join(' or ')}?`}`;
}

/** Problems of names that are given more than once; names are the same in any case where `ignoresCase` says so. */
export function repeatedNames(
  given: ReadonlyArray<Assignment>,
  { ignoresCase }: { readonly ignoresCase: boolean },
): ReadonlyArray<string> {
  const key = ({ name }: Assignment): string => (ignoresCase ? name.toLowerCase() : name);
  const keys = given.map(key);
  return given
    .filter((one, index) => keys.indexOf(key(one)) !== index)
    .map(({ field }) => `${field} is given more than once: keep one`);
}
