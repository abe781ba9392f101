import type { Node } from 'web-tree-sitter';
import { type BicepFile, type BicepFiles, type Declaration, allBelow, namedOf, propertiesOf, textOf } from './parse.ts';
import { facts, hasPath, misfits } from './type-tree.ts';
import { type Value, evaluate } from './value.ts';

/** Properties of a declaration that are Bicep's and not the resource's. */
const OF_BICEP = new Set(['dependsOn', 'parent', 'scope']);

/** Types and versions that are not on the list. */
export function versionFaults(files: BicepFiles): ReadonlyArray<string> {
  return resourcesOf(files).flatMap(([file, resource]) => {
    const [type = '', version = ''] = resource.target.split('@');
    const versions = facts.allowed[type];
    const at = `${file.path}:${resource.line}: ${resource.target}`;
    if (versions === undefined) return [`${at}: this type is not on the list`];
    if (!versions.includes(version)) return [`${at}: only ${versions.join(', ')} are on the list`];
    return facts.trees[resource.target] === undefined ? [`${at}: its properties are not in data/arm-types.json`] : [];
  });
}

/** Properties that a type does not have, that cannot be written, that are missing, or that are of another type. */
export function bodyFaults(files: BicepFiles): ReadonlyArray<string> {
  return resourcesOf(files)
    .filter(([, { isExisting }]) => !isExisting)
    .flatMap(([file, resource]) => {
      const tree = facts.trees[resource.target];
      if (tree === undefined) return [];
      const value = evaluate(files, file, resource.body);
      const body = value.kind === 'object' ? { ...value, entries: withoutBicepsOwn(value) } : value;
      const at = `${file.path}:${resource.line}: ${resource.symbol}`;
      return misfits(tree, body).map((wrong) => `${at} ${wrong}`);
    });
}

/** Properties that are read of a resource and that its type does not have. */
export function readingFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    allBelow(file.tree).flatMap((node) => {
      const reading = readingOf(node);
      const resource = file.declarations.find((one) => one.kind === 'resource' && one.symbol === reading?.symbol);
      const tree = resource === undefined ? undefined : facts.trees[resource.target];
      if (reading === null || tree === undefined || reading.path.length === 0) return [];
      const at = `${file.path}:${node.startPosition.row + 1}: ${node.text}`;
      if (reading.call !== null)
        return tree.functions?.includes(reading.call) === true ? [] : [`${at}: no such function`];
      return hasPath(tree, reading.path) ? [] : [`${at}: the type has no such property`];
    }),
  );
}

/** Resources that are not made at the scope that their file is deployed to, and children without their parent. */
export function placeFaults(files: BicepFiles): ReadonlyArray<string> {
  return resourcesOf(files).flatMap(([file, { target, body, isExisting, line, symbol }]) => {
    const at = `${file.path}:${line}: ${symbol}`;
    const properties = propertiesOf(body);
    const parent = properties.get('parent');
    const [type = ''] = target.split('@');
    if (parent !== undefined) {
      const own = file.declarations.find((one) => one.symbol === parent.text);
      const parentType = own?.target.split('@')[0] ?? '';
      return type.startsWith(`${parentType}/`) ? [] : [`${at}: ${parent.text} is no parent of a ${type}`];
    }
    const name = properties.get('name');
    const isChild = type.split('/').length > 2;
    const slashes = name === undefined ? 0 : name.text.split('/').length - 1;
    if (isChild && slashes !== type.split('/').length - 2) return [`${at}: names no parent`];
    const scopes = facts.trees[target]?.writableScopes ?? [];
    const fits = isExisting || scopes.includes(file.targetScope) || properties.has('scope');
    return fits ? [] : [`${at}: cannot be deployed to a ${file.targetScope}`];
  });
}

function resourcesOf(files: BicepFiles): ReadonlyArray<readonly [BicepFile, Declaration]> {
  return [...files.values()].flatMap((file) =>
    file.declarations.filter(({ kind }) => kind === 'resource').map((one) => [file, one] as const),
  );
}

function withoutBicepsOwn({ entries }: Extract<Value, { readonly kind: 'object' }>): ReadonlyMap<string, Value> {
  return new Map([...entries].filter(([name]) => !OF_BICEP.has(name)));
}

interface Reading {
  readonly symbol: string;
  readonly path: ReadonlyArray<string>;
  /** The function that is called on the resource; null when a property is read. */
  readonly call: string | null;
}

/** What the longest chain of members that ends here reads; null for what is no such chain, or only part of one. */
function readingOf(node: Node): Reading | null {
  const isPart = node.parent !== null && isStep(node.parent) && namedOf(node.parent)[0]?.id === node.id;
  const chain = isPart ? null : chainOf(node);
  if (chain === null) return null;
  const call = node.parent?.type === 'call_expression' ? (chain.path[0] ?? null) : null;
  // The name and the id are Bicep's, and an element of a loop is the resource itself.
  const isBiceps = ['id', 'name'].includes(chain.path[0] ?? '') || chain.path.join() === '*';
  return call === null && isBiceps ? null : { ...chain, call };
}

/** The symbol that a chain of members begins with, and its steps. */
function chainOf(node: Node): Omit<Reading, 'call'> | null {
  if (node.type === 'identifier') return { symbol: node.text, path: [] };
  const [object, step] = isStep(node) ? namedOf(node) : [];
  // What a function answers is not described.
  if (object === undefined || object.type === 'call_expression') return null;
  const chain = chainOf(object);
  const name = node.type === 'member_expression' ? (step?.text ?? '') : indexOf(step);
  return chain === null ? null : { symbol: chain.symbol, path: [...chain.path, name] };
}

function isStep({ type }: Node): boolean {
  return type === 'member_expression' || type === 'subscript_expression';
}

function indexOf(step: Node | undefined): string {
  return (step === undefined ? null : textOf(step)) ?? '*';
}
