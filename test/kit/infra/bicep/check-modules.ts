import type { Node } from 'web-tree-sitter';
import {
  type BicepFile,
  type BicepFiles,
  type Declaration,
  type Parameter,
  allBelow,
  childrenOf,
  namedOf,
  propertiesOf,
} from './parse.ts';
import { type Value, evaluate, literalsOf, outputOf, pathOf } from './value.ts';

/** Where the texts are no Bicep, or not of the dialect that is used here. */
export function syntaxFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) => [
    ...file.faults,
    ...file.foreign.map((one) => `${one} is not of the plain dialect`),
    ...file.declarations
      .filter(({ kind, target }) => kind === 'module' && /^(br|ts)[:/]/.test(target))
      .map(({ line, target }) => `${file.path}:${line}: module ${target} comes from a registry`),
  ]);
}

/** Names that nothing declares, declarations that nothing uses, and what has no description. */
export function nameFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) => {
    const used = usedNames(file);
    const local = [...file.parameters.keys(), ...file.variables.keys()];
    const known = new Set([...local, ...file.declarations.map(({ symbol }) => symbol), ...loopNames(file)]);
    const described = [...file.parameters.values(), ...file.outputs.values()];
    return [
      ...local.filter((name) => !used.has(name)).map((name) => `${file.path}: ${name} is used nowhere`),
      ...[...used].filter((name) => !known.has(name)).map((name) => `${file.path}: ${name} is declared nowhere`),
      ...described
        .filter(({ decorators }) => !decorators.has('description'))
        .map(({ name, line }) => `${file.path}:${line}: ${name} has no description`),
    ];
  });
}

/** Parameters that do not say what they hold: the compiler would let anything pass. */
export function holdingFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    [...file.parameters.values()]
      .filter(({ written }) => written === 'object' || written === 'array')
      .map(({ name, line, written }) => `${file.path}:${line}: ${name} is any ${written}`),
  );
}

/** Modules whose file, scope or parameters do not agree with what they are given. */
export function moduleFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    file.declarations
      .filter(({ kind }) => kind === 'module')
      .flatMap((module) => {
        const target = files.get(pathOf(file, module.target));
        const at = `${file.path}:${module.line}: module ${module.symbol}`;
        if (target === undefined) return [`${at}: ${module.target} does not exist`];
        return [...scopeFaults(file, module, target, at), ...parameterFaults(files, file, module, target, at)];
      }),
  );
}

/**
 * Parts of a path in the name or scope of what is deployed only where that path is given. Resource Manager may work
 * those out although the condition is false, and an index out of bounds fails the deployment: what is split has to have
 * its parts when the path is empty too.
 */
export function emptyPathFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    file.declarations.flatMap(({ symbol, line, body, condition }) => {
      const places = ['scope', 'name'].flatMap((name) => propertiesOf(body).get(name) ?? []);
      const indexed = places.flatMap(allBelow).filter(({ type }) => type === 'subscript_expression');
      return condition === null
        ? []
        : indexed
            .filter((node) => !hasPart(file, node, condition))
            .map((node) => `${file.path}:${line}: ${symbol}: ${node.text} is not there where its path is empty`);
    }),
  );
}

function hasPart(file: BicepFile, node: Node, condition: Node): boolean {
  const [list, index] = namedOf(node);
  const split = list === undefined ? undefined : file.variables.get(list.text);
  const [called, given] = split?.type === 'call_expression' ? namedOf(split) : [];
  const [path] = called?.text === 'split' && given !== undefined ? namedOf(given) : [];
  if (path === undefined) return true;
  if (path.type !== 'ternary_expression') return !condition.text.includes(`empty(${path.text})`);
  const [, whenEmpty] = namedOf(path);
  // A hole in the string is a part, or the path of a subscription, which has two slashes itself.
  const parts = (whenEmpty?.text ?? '').replaceAll('${subscription().id}', '/subscriptions/id').split('/').length;
  return Number(index?.text) < parts;
}

/** References to outputs that do not exist, or to those of a module that may not be deployed. */
export function outputFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    allBelow(file.tree).flatMap((node) => {
      const [symbol, word] = namedOf(node);
      if (node.type !== 'member_expression' || word?.text !== 'outputs') return [];
      const module = file.declarations.find((one) => one.kind === 'module' && one.symbol === symbol?.text);
      const at = `${file.path}:${node.startPosition.row + 1}: ${node.parent?.text ?? node.text}`;
      if (module === undefined) return [`${at}: there is no such module`];
      if (module.isConditional) return [`${at}: the module may not be deployed`];
      const isKnown = node.parent !== null && outputOf(files, file, node.parent) !== null;
      return isKnown ? [] : [`${at}: there is no such output`];
    }),
  );
}

/** Values of outputs and defaults of parameters that are not of the type they say. */
export function typeFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) => [
    ...[...file.outputs.values()].flatMap((output) =>
      wrongType(evaluate(files, file, output.value), output.type).map(
        (wrong) => `${file.path}:${output.line}: output ${output.name} ${wrong}`,
      ),
    ),
    ...[...file.parameters.values()].flatMap((parameter) =>
      parameter.defaultValue === null
        ? []
        : refusals(evaluate(files, file, parameter.defaultValue), parameter).map(
            (wrong) => `${file.path}:${parameter.line}: ${parameter.name} ${wrong}`,
          ),
    ),
  ]);
}

function scopeFaults(file: BicepFile, module: Declaration, target: BicepFile, at: string): ReadonlyArray<string> {
  const scope = propertiesOf(module.body).get('scope');
  const given = scope === undefined ? file.targetScope : scopeOf(file, scope);
  return given === target.targetScope ? [] : [`${at}: is deployed to a ${given}, and wants a ${target.targetScope}`];
}

function scopeOf(file: BicepFile, scope: Node): string {
  const [called] = namedOf(scope);
  if (scope.type === 'call_expression') return called?.text ?? '';
  const resource = file.declarations.find(({ symbol }) => symbol === scope.text);
  return resource?.target.startsWith('Microsoft.Resources/resourceGroups@') === true ? 'resourceGroup' : scope.text;
}

function parameterFaults(
  files: BicepFiles,
  file: BicepFile,
  module: Declaration,
  target: BicepFile,
  at: string,
): ReadonlyArray<string> {
  const params = propertiesOf(module.body).get('params');
  const given = params === undefined ? new Map<string, Node>() : propertiesOf(params);
  const missing = [...target.parameters.values()].filter(
    ({ name, defaultValue }) => defaultValue === null && !given.has(name),
  );
  const wrong = [...given].flatMap(([name, node]) => {
    const parameter = target.parameters.get(name);
    if (parameter === undefined) return [`${at}: ${target.path} has no parameter ${name}`];
    return [...refusals(evaluate(files, file, node), parameter), ...boundFaults(file, node, parameter)].map(
      (why) => `${at}: ${name} ${why}`,
    );
  });
  return [...missing.map(({ name }) => `${at}: ${name} is not given`), ...wrong];
}

/**
 * Bounds of a parameter that one which is handed on as it is does not keep: the compiler warns of the first, and the
 * second fails as it is deployed.
 */
function boundFaults(file: BicepFile, node: Node, parameter: Parameter): ReadonlyArray<string> {
  const own = file.parameters.get(node.text);
  if (own === undefined) return [];
  return ['minValue', 'minLength'].flatMap((bound) => {
    const [wanted, kept] = [boundOf(parameter, bound), boundOf(own, bound)];
    return wanted > kept ? [`has ${bound} ${wanted}, and ${own.name} may be ${kept}`] : [];
  });
}

function boundOf({ decorators }: Parameter, bound: string): number {
  const given = decorators.get(bound);
  return given === undefined ? 0 : Number(namedOf(given)[0]?.text ?? 0);
}

/** Why a parameter does not take a value, as far as that is known. */
export function refusals(value: Value, { type, written, members, decorators }: Parameter): ReadonlyArray<string> {
  const allowed = decorators.get('allowed');
  const choices = allowed === undefined ? [] : namedOf(namedOf(allowed)[0] ?? allowed).map(({ text }) => text);
  const notAllowed = literalsOf(value).filter(
    (one) =>
      one !== undefined && choices.length > 0 && !choices.includes(typeof one === 'string' ? `'${one}'` : String(one)),
  );
  const unknown =
    value.kind === 'object' && members !== null ? [...value.entries.keys()].filter((one) => !members.has(one)) : [];
  const elements = value.kind === 'array' && written === 'string[]' ? value.items : [];
  return [
    ...wrongType(value, type),
    ...notAllowed.map((one) => `may not be ${String(one)}`),
    ...unknown.map((one) => `has no ${one}`),
    ...elements.flatMap((one) => wrongType(one, 'string').map((wrong) => `has an element that ${wrong}`)),
  ];
}

function wrongType(value: Value, wanted: string): ReadonlyArray<string> {
  const type = typeOf(value);
  const types = value.kind === 'either' ? value.values.map(typeOf) : [type];
  return types
    .filter((one) => one !== null && one !== 'null' && one !== wanted)
    .map((one) => `is of type ${one}, and not ${wanted}`);
}

function typeOf(value: Value): string | null {
  if (value.kind === 'unknown') return value.type;
  if (value.kind === 'either') return null;
  if (value.kind !== 'literal') return value.kind;
  if (value.value === null) return 'null';
  return { string: 'string', number: 'int', boolean: 'bool' }[typeof value.value as 'string' | 'number' | 'boolean'];
}

/** Names that expressions refer to, but those of functions and properties. */
function usedNames(file: BicepFile): ReadonlySet<string> {
  const used = new Set<string>();
  for (const node of allBelow(file.tree)) {
    const { parent } = node;
    if (node.type !== 'identifier' || parent === null) continue;
    const isFirst = namedOf(parent)[0]?.id === node.id;
    const declares = parent.type.endsWith('_declaration') && isFirst;
    const names = parent.type === 'object_property' && isFirst;
    const calls = parent.type === 'call_expression' && isFirst;
    const loops = (parent.type === 'for_statement' && isFirst) || (parent.type === 'lambda_expression' && isFirst);
    if (!declares && !names && !calls && !loops) used.add(node.text);
  }
  return used;
}

function loopNames(file: BicepFile): ReadonlyArray<string> {
  return allBelow(file.tree).flatMap((node) => {
    if (node.type === 'for_loop_parameters') return childrenOf(node).map(({ text }) => text);
    if (node.type !== 'for_statement' && node.type !== 'lambda_expression') return [];
    const [first] = namedOf(node);
    return first?.type === 'identifier' ? [first.text] : [];
  });
}
