import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stopped } from '../stopped.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The template, and what of its parameters is no text. */
export interface Template {
  readonly file: string;
  readonly types: ReadonlyMap<string, 'int' | 'bool'>;
}

/** As Bicep, which az compiles, or compiled already where that alone came along. */
export function readTemplate(root: string): Template {
  const bicep = join(root, 'infra/main.bicep');
  if (existsSync(bicep)) {
    const declared = readFileSync(bicep, 'utf8').matchAll(/^param (\w+) (int|bool)\b/gm);
    return { file: bicep, types: new Map([...declared].map(([, name = '', type]) => [name, type as 'int' | 'bool'])) };
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
    types: new Map(
      Object.entries(parameters).flatMap(([name, { type }]) =>
        type === 'int' || type === 'bool' ? [[name, type] as const] : [],
      ),
    ),
  };
}

/** `${NAME}` and `${NAME=what else}`, as azd reads them in infra/main.parameters.json. */
const VARIABLE = /^\$\{([A-Z_]+)(?:=(.*))?\}$/;

interface ParameterFile {
  readonly parameters: Readonly<Record<string, { readonly value: unknown }>>;
}

/**
 * The file of azd's parameters with its variables filled in, as az takes it. Throws Stopped that names the variable
 * which does not fit.
 */
export function fillParameters(azdParameters: string, { types }: Template, environment: Environment): ParameterFile {
  const { parameters, ...rest } = JSON.parse(azdParameters) as ParameterFile;
  const filled = Object.entries(parameters).map(([name, { value }]) => [
    name,
    { value: fill(value, types.get(name), environment) },
  ]);
  return { ...rest, parameters: Object.fromEntries(filled) as ParameterFile['parameters'] };
}

function fill(value: unknown, type: 'int' | 'bool' | undefined, environment: Environment): unknown {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, undefined, environment)]));
  }
  const [, variable, otherwise] = typeof value === 'string' ? (VARIABLE.exec(value) ?? []) : [];
  if (variable === undefined) return value;
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
  const [, variable] = typeof value === 'string' ? (VARIABLE.exec(value) ?? []) : [];
  return variable === undefined ? [] : [[variable, String(was)]];
}

/** Resource Manager does not promise to keep the case of letters. */
function ofName(values: object, name: string): unknown {
  return Object.entries(values).find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}
