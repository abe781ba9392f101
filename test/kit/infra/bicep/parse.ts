import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { Language, type Node, Parser } from 'web-tree-sitter';

/** The repository's root. */
export const root = resolve(import.meta.dirname, '../../../..');

/** Texts of Bicep files by their path from `infra`. */
export type Texts = Readonly<Record<string, string>>;

export interface Parameter {
  readonly name: string;
  /** Its basic type: `array` of `string[]`, `object` of `{ … }`. */
  readonly type: string;
  /** What it holds, as it is written. */
  readonly written: string;
  /** Names of the properties of an object that has no others; null for all else. */
  readonly members: ReadonlySet<string> | null;
  /** Null: it must be given. */
  readonly defaultValue: Node | null;
  readonly decorators: ReadonlyMap<string, Node>;
  readonly line: number;
}

export interface Output {
  readonly name: string;
  readonly type: string;
  readonly value: Node;
  readonly decorators: ReadonlyMap<string, Node>;
  readonly line: number;
}

/** A resource or a module. */
export interface Declaration {
  readonly kind: 'resource' | 'module';
  readonly symbol: string;
  /** `type@version` of a resource, the path of a module. */
  readonly target: string;
  readonly isExisting: boolean;
  readonly isConditional: boolean;
  /** What has to be true for it to be deployed; null: it always is. */
  readonly condition: Node | null;
  readonly isLoop: boolean;
  readonly body: Node;
  readonly line: number;
}

export interface BicepFile {
  readonly path: string;
  readonly targetScope: string;
  /** Where the grammar does not fit. */
  readonly faults: ReadonlyArray<string>;
  readonly parameters: ReadonlyMap<string, Parameter>;
  readonly variables: ReadonlyMap<string, Node>;
  readonly declarations: ReadonlyArray<Declaration>;
  readonly outputs: ReadonlyMap<string, Output>;
  /** Words with which declarations begin that are not of the plain dialect (docs/decisions/0040). */
  readonly foreign: ReadonlyArray<string>;
  readonly tree: Node;
}

export type BicepFiles = ReadonlyMap<string, BicepFile>;

const require = createRequire(import.meta.url);
await Parser.init();
const grammar = await Language.load(readFileSync(require.resolve('tree-sitter-bicep/tree-sitter-bicep.wasm')));
const parser = new Parser().setLanguage(grammar);

/** All Bicep files under `infra`, as they are on disk. */
export function readTexts(): Texts {
  const folder = join(root, 'infra');
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.bicep'))
      .map((name) => name.replaceAll('\\', '/'))
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

export function parseAll(texts: Texts): BicepFiles {
  return new Map(Object.entries(texts).map(([path, text]) => [path, parsedOnce(path, text)]));
}

/** Who breaks one file on purpose asks for all the others again. */
const parsed = new Map<string, BicepFile>();

function parsedOnce(path: string, text: string): BicepFile {
  const key = `${path}\n${text}`;
  const file = parsed.get(key) ?? parseFile(path, text);
  parsed.set(key, file);
  return file;
}

const PLAIN = new Set([
  'comment',
  'decorators',
  'metadata_declaration',
  'module_declaration',
  'output_declaration',
  'parameter_declaration',
  'resource_declaration',
  'target_scope_assignment',
  'variable_declaration',
]);

function parseFile(path: string, text: string): BicepFile {
  const tree = parseTree(text);
  const statements = statementsOf(tree);
  const of = (type: string): ReadonlyArray<Statement> => statements.filter(({ node }) => node.type === type);
  const at = ({ startPosition }: Node): string => `${path}:${startPosition.row + 1}`;
  const [scope] = of('target_scope_assignment').map(({ parts }) => parts.map(textOf)[0]);
  return {
    path,
    targetScope: scope ?? 'resourceGroup',
    faults: faultsOf(tree).map((node) => `${at(node)}: this is not Bicep`),
    parameters: named(of('parameter_declaration'), ({ name, parts: [, type, value], decorators, line }) => [
      { name, ...typeOf(type), defaultValue: value ?? null, decorators, line },
    ]),
    variables: named(of('variable_declaration'), ({ parts: [, value] }) => value ?? []),
    declarations: [...of('resource_declaration'), ...of('module_declaration')].map(({ node }) => declarationOf(node)),
    outputs: named(of('output_declaration'), ({ name, parts: [, type, value], decorators, line }) =>
      value === undefined ? [] : [{ name, type: type?.text ?? '', value, decorators, line }],
    ),
    foreign: namedOf(tree)
      .filter(({ type }) => !PLAIN.has(type) && type !== 'ERROR')
      .map((node) => `${at(node)}: ${node.text.split(/\s/)[0]}`),
    tree,
  };
}

function typeOf(node: Node | undefined): Pick<Parameter, 'type' | 'written' | 'members'> {
  const written = node?.text ?? '';
  const [object] = node === undefined ? [] : namedOf(node).filter(({ type }) => type === 'object');
  if (object !== undefined && written.startsWith('{')) {
    const names = namedOf(object).map((property) => (namedOf(property).length > 1 ? namedOf(property)[0] : undefined));
    const isOpen = names.includes(undefined);
    return { type: 'object', written, members: isOpen ? null : new Set(names.map((name) => name?.text ?? '')) };
  }
  return { type: written.endsWith('[]') ? 'array' : written, written, members: null };
}

/** A declaration with the decorators before it. */
interface Statement {
  readonly node: Node;
  readonly name: string;
  readonly parts: ReadonlyArray<Node>;
  readonly decorators: ReadonlyMap<string, Node>;
  readonly line: number;
}

function statementsOf(tree: Node): ReadonlyArray<Statement> {
  const nodes = namedOf(tree);
  return nodes.map((node, index) => {
    const before = nodes[index - 1];
    const parts = namedOf(node);
    return {
      node,
      name: parts[0]?.text ?? '',
      parts,
      decorators: before?.type === 'decorators' ? decoratorsOf(before) : new Map(),
      line: node.startPosition.row + 1,
    };
  });
}

function named<Value>(
  statements: ReadonlyArray<Statement>,
  read: (statement: Statement) => ReadonlyArray<Value> | Value,
): ReadonlyMap<string, Value> {
  return new Map(
    statements.flatMap((statement) => {
      const value = read(statement);
      const values = (Array.isArray(value) ? value : [value]) as ReadonlyArray<Value>;
      return values.map((one) => [statement.name, one] as const);
    }),
  );
}

/** The syntax tree of a text. */
export function parseTree(text: string): Node {
  const tree = parser.parse(text);
  if (tree === null) throw new Error('the parser was not given a grammar');
  return tree.rootNode;
}

function declarationOf(node: Node): Declaration {
  const [symbol, target, value] = namedOf(node);
  if (symbol === undefined || target === undefined || value === undefined) throw new Error(`cannot read ${node.text}`);
  const isLoop = value.type === 'for_statement';
  const inner = isLoop ? (namedOf(value).at(-1) ?? value) : value;
  const isConditional = inner.type === 'if_statement';
  return {
    kind: node.type === 'module_declaration' ? 'module' : 'resource',
    symbol: symbol.text,
    target: textOf(target) ?? '',
    isExisting: node.children.some((child) => child?.type === 'existing'),
    isConditional,
    condition: isConditional ? (namedOf(inner)[0] ?? null) : null,
    isLoop,
    body: isConditional ? (namedOf(inner).at(-1) ?? inner) : inner,
    line: node.startPosition.row + 1,
  };
}

function decoratorsOf(node: Node): ReadonlyMap<string, Node> {
  return new Map(
    namedOf(node).flatMap((decorator) => {
      const [call] = namedOf(decorator);
      const [name, given] = call === undefined ? [] : namedOf(call);
      return name === undefined || given === undefined ? [] : [[name.text, given] as const];
    }),
  );
}

function faultsOf(node: Node): ReadonlyArray<Node> {
  if (node.isError || node.isMissing) return [node];
  return node.hasError ? childrenOf(node).flatMap(faultsOf) : [];
}

export function childrenOf(node: Node): ReadonlyArray<Node> {
  return node.children.flatMap((child) => child ?? []);
}

/** Children that mean something: no brackets, no comments. */
export function namedOf(node: Node): ReadonlyArray<Node> {
  return node.namedChildren.flatMap((child) => (child === null || child.type === 'comment' ? [] : [child]));
}

/** This node and all below it. */
export function allBelow(node: Node): ReadonlyArray<Node> {
  return [node, ...namedOf(node).flatMap(allBelow)];
}

/** A string without holes, as it reads; null for all else. */
export function textOf(node: Node): string | null {
  if (node.type !== 'string') return null;
  const parts = namedOf(node).map((part) => {
    if (part.type === 'string_content') return part.text;
    return part.type === 'escape_sequence' ? (ESCAPES[part.text] ?? part.text.slice(1)) : null;
  });
  return parts.includes(null) ? null : parts.join('');
}

const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\r': '\r', '\\t': '\t' };

/** The properties of an object by their names; those whose name has holes are left out. */
export function propertiesOf(node: Node): ReadonlyMap<string, Node> {
  return new Map(
    namedOf(node).flatMap((property) => {
      const [name, value] = namedOf(property);
      if (property.type !== 'object_property' || name === undefined || value === undefined) return [];
      const key = name.type === 'string' ? textOf(name) : name.text;
      return key === null ? [] : [[key, value] as const];
    }),
  );
}

/** The declaration of this name. Throws where there is none. */
export function declared(file: BicepFile | undefined, symbol: string): Declaration {
  const found = file?.declarations.find((one) => one.symbol === symbol);
  if (found === undefined) throw new Error(`${file?.path ?? 'a missing file'} declares no ${symbol}`);
  return found;
}
