import { type BicepFiles, namedOf, parseTree, textOf } from './parse.ts';
import { refusals } from './check-modules.ts';
import { evaluate } from './value.ts';

/** A variable of azd's environment, and what stands in its place where it is not set. */
const VARIABLE = /^\$\{[A-Z_]+(?:=(.*))?\}$/;

/** What of azd's parameters main.bicep does not know, wants, or takes in another form. */
export function azdParameterFaults(files: BicepFiles, text: string): ReadonlyArray<string> {
  const { parameters } = JSON.parse(text) as {
    readonly parameters: Readonly<Record<string, { readonly value: unknown }>>;
  };
  const main = files.get('main.bicep');
  if (main === undefined) return ['there is no main.bicep'];
  const missing = [...main.parameters.values()].filter(
    ({ name, defaultValue }) => defaultValue === null && parameters[name] === undefined,
  );
  const wrong = Object.entries(parameters).flatMap(([name, { value }]) => {
    const parameter = main.parameters.get(name);
    if (parameter === undefined) return [`main.parameters.json: main.bicep has no parameter ${name}`];
    const words = typeof value === 'object' && value !== null ? Object.values(value) : [value];
    const parts = words.map((one) => VARIABLE.exec(String(one)));
    if (parts.includes(null)) return [`main.parameters.json: ${name} is no variable of the environment`];
    const unknown =
      typeof value === 'object' && value !== null && parameter.members !== null
        ? Object.keys(value).filter((one) => parameter.members?.has(one) !== true)
        : [];
    if (unknown.length > 0) return [`main.parameters.json: ${name} has no ${unknown.join(', ')}`];
    // What a setting of the app is by default, the app says.
    if (parameter.defaultValue === null || typeof value === 'object') return [];
    const known = evaluate(files, main, parameter.defaultValue);
    const otherwise = parts[0]?.[1] ?? '';
    const same = known.kind === 'literal' && String(known.value) === otherwise;
    return same ? [] : [`main.parameters.json: ${name} is ${otherwise} by default, and not so in main.bicep`];
  });
  return [...missing.map(({ name }) => `main.parameters.json: ${name} is missing`), ...wrong];
}

/**
 * The same of a parameter file of Bicep. The grammar knows no such files: an assignment of a parameter is read as one
 * of a variable.
 */
export function parameterFileFaults(files: BicepFiles, text: string): ReadonlyArray<string> {
  const main = files.get('main.bicep');
  if (main === undefined) return ['there is no main.bicep'];
  const using = /^using '(.+)'$/m.exec(text)?.[1];
  const tree = parseTree(text.replace(/^using .*$/m, '').replaceAll(/^param /gm, 'var '));
  const given = new Map(
    namedOf(tree).flatMap((node) => {
      const [name, value] = node.type === 'variable_declaration' ? namedOf(node) : [];
      return name === undefined || value === undefined ? [] : [[name.text, value] as const];
    }),
  );
  const missing = [...main.parameters.values()].filter(
    ({ name, defaultValue }) => defaultValue === null && !given.has(name),
  );
  const wrong = [...given].flatMap(([name, value]) => {
    const parameter = main.parameters.get(name);
    if (parameter === undefined) return [`the parameter file: main.bicep has no parameter ${name}`];
    const known =
      value.type === 'string' ? { kind: 'literal' as const, value: textOf(value) } : evaluate(files, main, value);
    return refusals(known, parameter).map((why) => `the parameter file: ${name} ${why}`);
  });
  return [
    ...(tree.hasError ? ['the parameter file: this is not Bicep'] : []),
    ...(using === '../main.bicep' ? [] : ['the parameter file: does not use ../main.bicep']),
    ...missing.map(({ name }) => `the parameter file: ${name} is missing`),
    ...wrong,
  ];
}
