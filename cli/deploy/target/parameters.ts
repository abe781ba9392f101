import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stopped } from '../stopped.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The template, the names of its parameters, and which of them are no text. */
export interface Template {
  readonly file: string;
  readonly names: ReadonlySet<string>;
  readonly types: ReadonlyMap<string, 'int' | 'bool'>;
}

/** As Bicep, which az compiles, or compiled already where that alone came along. */
export function readTemplate(root: string): Template {
  const bicep = join(root, 'infra/main.bicep');
  if (existsSync(bicep)) {
    const declared = [...readFileSync(bicep, 'utf8').matchAll(/^param (\w+) (\w+)/gm)];
    return {
      file: bicep,
      names: new Set(declared.map(([, name = '']) => name)),
      types: typesOf(declared.map(([, name = '', type = '']) => [name, type])),
    };
  }
  const compiled = join(root, 'infra/main.json');
  if (!existsSync(compiled)) {
    throw new Stopped('this package has no infra/main.json, the template that is deployed: deploy from a checkout');
  }
  const { parameters } = JSON.parse(readFileSync(compiled, 'utf8')) as {
    readonly parameters: Readonly<Record<string, { readonly type: string }>>;
  };
  return {
    file: compiled,
    names: new Set(Object.keys(parameters)),
    types: typesOf(Object.entries(parameters).map(([name, { type }]) => [name, type])),
  };
}

function typesOf(declared: ReadonlyArray<readonly [string, string]>): Template['types'] {
  return new Map(
    declared.flatMap(([name, type]) => (type === 'int' || type === 'bool' ? [[name, type] as const] : [])),
  );
}

/** `${NAME}` and `${NAME=what else}`, as azd reads them in infra/main.parameters.json. */
const VARIABLE = /^\$\{([A-Z_]+)(?:=(.*))?\}$/;

/** As az and azd take it. */
export interface ParameterFile {
  readonly parameters: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The variable that stands for a value of the file, and what holds where it is not set; null: none does. */
export function variableIn(
  value: unknown,
): { readonly variable: string; readonly otherwise: string | undefined } | null {
  const [, variable, otherwise] = typeof value === 'string' ? (VARIABLE.exec(value) ?? []) : [];
  return variable === undefined ? null : { variable, otherwise };
}

/**
 * The file of azd's parameters with its variables filled in, as az takes it. `kept`: parameters, or entries of them,
 * that come along where the file does not name them. Throws Stopped that names the variable which does not fit.
 */
export function fillParameters(
  azdParameters: string,
  { names, types }: Template,
  environment: Environment,
  kept: Readonly<Record<string, unknown>> = {},
): ParameterFile {
  const { parameters, ...rest } = JSON.parse(azdParameters) as ParameterFile;
  const filled = Object.entries(parameters).map(([name, { value }]) => {
    const now = fill(value, types.get(name), environment);
    const before = ofName(kept, name);
    return [name, { value: before === undefined ? now : { ...(before as object), ...(now as object) } }];
  });
  // A version may have done away with a parameter.
  const others = [...names].flatMap((name) => {
    const value = ofName(parameters, name) === undefined ? ofName(kept, name) : undefined;
    return value === undefined ? [] : [[name, { value }]];
  });
  return { ...rest, parameters: Object.fromEntries([...filled, ...others]) as ParameterFile['parameters'] };
}

function fill(value: unknown, type: 'int' | 'bool' | undefined, environment: Environment): unknown {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, undefined, environment)]));
  }
  const found = variableIn(value);
  if (found === null) return value;
  const { variable, otherwise } = found;
  // A variable that is empty is one that is not said, as with azd.
  const text = environment[variable] === undefined || environment[variable] === '' ? otherwise : environment[variable];
  if (text === undefined) throw new Stopped(`${variable} is not set, and has no default`, 2);
  return typed(text, type, variable);
}

function typed(text: string, type: 'int' | 'bool' | undefined, variable: string): unknown {
  const wrong = (fix: string): Stopped => new Stopped(`${variable} is ${JSON.stringify(text)}: write ${fix}`, 2);
  if (type === 'int') {
    if (!/^\d+$/.test(text)) throw wrong('a number');
    return Number(text);
  }
  if (type === 'bool') {
    if (text !== 'true' && text !== 'false') throw wrong('true or false');
    return text === 'true';
  }
  return text;
}

/** What belongs to the deployment, and not to what was chosen for it. */
const NOT_CARRIED: ReadonlySet<string> = new Set(['AZURE_ENV_NAME', 'AZURE_LOCATION', 'NODEWRIGHT_CLUSTER_ID']);

/** The variables that an earlier deployment had, so that what was chosen once stays until it is chosen otherwise. */
export function carriedFrom(
  azdParameters: string,
  parameters: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const { parameters: known } = JSON.parse(azdParameters) as ParameterFile;
  const found = Object.entries(known).flatMap(([name, { value }]) => variablesOf(value, ofName(parameters, name)));
  return Object.fromEntries(found.filter(([variable, value]) => !NOT_CARRIED.has(variable) && value !== ''));
}

function variablesOf(value: unknown, was: unknown): ReadonlyArray<readonly [string, string]> {
  if (was === undefined || was === null) return [];
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, one]) => variablesOf(one, ofName(was, name)));
  }
  const found = variableIn(value);
  return found === null ? [] : [[found.variable, String(was)]];
}

/** Resource Manager does not promise to keep the case of letters. */
export function ofName(values: object, name: string): unknown {
  return Object.entries(values).find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}
