import { isDeepStrictEqual } from 'node:util';
import type { Ask } from '../../../infra/hooks/az.ts';
import { explainRefusal } from '../../../infra/hooks/explain-refusal.ts';
import { isMapping } from '../../../infra/hooks/relay-commands.ts';
import { sayItHere } from '../say-it-here.ts';
import { Stopped } from '../stopped.ts';
import type { DeploymentRecord } from './deployment-record.ts';
import { type ParameterFile, carriedFrom, ofName, variableIn } from './parameters.ts';
import { type Published, isReleased } from './published.ts';

/** What was chosen in an earlier deployment, and holds until it is chosen otherwise. */
export interface Choices {
  /** By the variable that says it. */
  readonly variables: Readonly<Record<string, string>>;
  /** The same and those that no variable says, by the parameter of the template. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Where nothing was deployed. */
export const NO_CHOICES: Choices = { variables: {}, parameters: {} };

/**
 * Reads what was chosen: parameters of the last deployment that are not what its own template has for who says nothing.
 * A default of an older version is no choice, so a newer version brings its own. Throws Stopped where Azure does not
 * tell.
 */
export function readChoices(
  ask: Ask,
  record: DeploymentRecord,
  { azdParameters, published }: { readonly azdParameters: string; readonly published: Published | null },
): Choices {
  const answer = ask(['deployment', 'sub', 'export', '--name', record.name]);
  if (answer.kind !== 'answer') {
    throw new Stopped(sayItHere(explainRefusal(`read the template of ${record.name}`, answer)));
  }
  const parameters = chosenIn(record.parameters, answer.value, published);
  return { variables: carriedFrom(azdParameters, parameters), parameters };
}

/** `exported`: the template that the parameters were sent with. */
export function chosenIn(
  parameters: DeploymentRecord['parameters'],
  exported: unknown,
  published: Published | null,
): DeploymentRecord['parameters'] {
  const { parameters: declared = {} } = (exported ?? {}) as {
    readonly parameters?: Readonly<Record<string, { readonly defaultValue?: unknown }>>;
  };
  const was = (name: string): unknown => ofName(parameters, name);
  const image = String(was('relayImage') ?? '');
  const isOwnImage = image !== '' && !isReleased(image, published);
  return Object.fromEntries(
    Object.entries(parameters).filter(([name, value]) => {
      // As of one that Azure keeps secret.
      if (value === undefined || value === null) return false;
      const { defaultValue } = (ofName(declared, name) ?? {}) as { readonly defaultValue?: unknown };
      switch (name.toLowerCase()) {
        // The next version brings an image of its own.
        case 'relayimage':
          return isOwnImage;
        // A registry that was made stays; that none was made may be the package's doing, which has an image.
        case 'createregistry':
          return value === true || isOwnImage;
        // Worked out from the day. A budget keeps the one that it began with, and a new one may not begin in the past.
        case 'budgetstartdate':
          return Number(was('monthlyBudget') ?? 0) > 0;
        default:
          return !isDeepStrictEqual(value, defaultValue);
      }
    }),
  );
}

/** More of a value than this is a key, or a list that nobody reads to its end. */
const SHOWN_MAX = 100;

/** A line for each choice that is kept because nobody makes another, and that changes something. */
export function renderKept(
  { variables, parameters }: Choices,
  { at }: Pick<DeploymentRecord, 'at'>,
  {
    azdParameters,
    said,
    published,
  }: {
    readonly azdParameters: string;
    /** The variables of the machine. */
    readonly said: Readonly<Record<string, string | undefined>>;
    readonly published: Published | null;
  },
): ReadonlyArray<string> {
  const { parameters: known } = JSON.parse(azdParameters) as ParameterFile;
  const defaults = new Map(Object.values(known).flatMap(({ value }) => defaultsIn(value)));
  const ofPackage: Readonly<Record<string, string>> = published?.variables ?? {};
  const byVariable = Object.entries(variables).flatMap(([variable, value]) =>
    said[variable] !== undefined || value === (ofPackage[variable] ?? defaults.get(variable))
      ? []
      : [[variable, value] as const],
  );
  const byParameter = Object.entries(keptParameters(azdParameters, parameters)).flatMap(([name, value]) =>
    ofName(known, name) === undefined
      ? [[name, JSON.stringify(value)] as const]
      : Object.entries(value as object).map(([inner, one]) => [`${name}.${inner}`, JSON.stringify(one)] as const),
  );
  return [...byVariable, ...byParameter].map(
    ([name, value]) =>
      `keeps ${name} ${value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value}, from the deployment of ${at}`,
  );
}

function defaultsIn(value: unknown): ReadonlyArray<readonly [string, string | undefined]> {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(defaultsIn);
  const found = variableIn(value);
  return found === null ? [] : [[found.variable, found.otherwise]];
}

/**
 * Of what was chosen that of which the file of parameters says nothing: whole parameters, and of those that are objects
 * single entries.
 */
export function keptParameters(
  azdParameters: string,
  chosen: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { parameters: known } = JSON.parse(azdParameters) as ParameterFile;
  const kept = Object.entries(chosen).flatMap(([name, value]): ReadonlyArray<readonly [string, unknown]> => {
    const named = ofName(known, name) as { readonly value: unknown } | undefined;
    if (named === undefined) return [[name, value]];
    const [now, before] = [named.value, value];
    if (!isMapping(now) || !isMapping(before)) return [];
    const rest = Object.entries(before).filter(([inner]) => ofName(now, inner) === undefined);
    return rest.length === 0 ? [] : [[name, Object.fromEntries(rest)]];
  });
  return Object.fromEntries(kept);
}
