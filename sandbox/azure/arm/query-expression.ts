import { ArmError } from './arm-error.ts';
import { isObject, type JsonObject } from './json.ts';

/** A condition on a row. */
export type Predicate = (row: JsonObject) => boolean;

type Read = (row: JsonObject) => unknown;

const token =
  /\s*(?:('(?:[^']|'')*'|"(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?)|(==|=~|!=|!~|[()[\],.])|([A-Za-z_$][\w$~-]*))/y;

/** Conditions are short; a longer text is not one that Nodewright or its users write. */
const LENGTH_LIMIT = 8_192;

/**
 * Reads the conditions that the double understands of OData (`armRegionName eq 'westeurope' and contains(skuName,
 * 'v5')`) and of Kusto's `where` (`type =~ 'x' and tags has_cs "y" and not(isempty(tags['z']))`). Throws a 400 for any
 * other.
 */
export function parseCondition(text: string): Predicate {
  const parser = new Parser(tokenize(text), text);
  return parser.parseWhole();
}

/** Reads the names that a row has at `properties.a['b']`, null when the text is no such path. */
export function parsePath(text: string): Read | null {
  try {
    return new Parser(tokenize(text), text).parsePathOnly();
  } catch {
    return null;
  }
}

function tokenize(text: string): ReadonlyArray<string> {
  if (text.length > LENGTH_LIMIT) throw refuse(text.slice(0, 80));
  const tokens: Array<string> = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.trimEnd().length) {
    const found = token.exec(text);
    if (found === null) throw refuse(text);
    tokens.push(found[0].trim());
  }
  return tokens;
}

function refuse(text: string): ArmError {
  return new ArmError(400, { code: 'BadRequest', message: `The double does not understand the condition: ${text}` });
}

class Parser {
  readonly #tokens: ReadonlyArray<string>;
  readonly #text: string;
  #at = 0;

  constructor(tokens: ReadonlyArray<string>, text: string) {
    this.#tokens = tokens;
    this.#text = text;
  }

  parseWhole(): Predicate {
    const predicate = this.#any();
    if (this.#at < this.#tokens.length) throw refuse(this.#text);
    return predicate;
  }

  parsePathOnly(): Read {
    const read = this.#operand();
    if (this.#at < this.#tokens.length) throw refuse(this.#text);
    return read;
  }

  #any(): Predicate {
    const parts = [this.#every()];
    while (this.#take('or')) parts.push(this.#every());
    return (row) => parts.some((part) => part(row));
  }

  #every(): Predicate {
    const parts = [this.#one()];
    while (this.#take('and')) parts.push(this.#one());
    return (row) => parts.every((part) => part(row));
  }

  #one(): Predicate {
    if (this.#take('not')) {
      const inner = this.#one();
      return (row) => !inner(row);
    }
    if (this.#take('(')) {
      const inner = this.#any();
      this.#expect(')');
      return inner;
    }
    return this.#call() ?? this.#comparison();
  }

  #call(): Predicate | null {
    const test = CALLS[this.#peek(0).toLowerCase()];
    if (test === undefined || this.#peek(1) !== '(') return null;
    this.#at += 2;
    const reads = [this.#operand()];
    while (this.#take(',')) reads.push(this.#operand());
    this.#expect(')');
    return (row) => test(...reads.map((read) => read(row)));
  }

  #comparison(): Predicate {
    const left = this.#operand();
    const operator = this.#next().toLowerCase();
    if (operator === 'in' || operator === 'in~') {
      const reads = this.#list();
      const equal = operator === 'in' ? sameText : sameTextAnyCase;
      return (row) => reads.some((read) => equal(left(row), read(row)));
    }
    const compare = OPERATORS[operator];
    if (compare === undefined) throw refuse(this.#text);
    const right = this.#operand();
    return (row) => compare(left(row), right(row));
  }

  #list(): ReadonlyArray<Read> {
    this.#expect('(');
    const reads = [this.#operand()];
    while (this.#take(',')) reads.push(this.#operand());
    this.#expect(')');
    return reads;
  }

  #operand(): Read {
    const first = this.#next();
    if (/^['"]/.test(first)) {
      const literal = unquote(first);
      return () => literal;
    }
    if (/^-?\d/.test(first)) {
      const literal = Number(first);
      return () => literal;
    }
    if (/^(tolower|tostring)$/i.test(first) && this.#take('(')) {
      const inner = this.#operand();
      this.#expect(')');
      return (row) => (first.toLowerCase() === 'tolower' ? textOf(inner(row)).toLowerCase() : textOf(inner(row)));
    }
    if (!/^[A-Za-z_$]/.test(first)) throw refuse(this.#text);
    return this.#path(first);
  }

  #path(first: string): Read {
    const keys = [first];
    for (;;) {
      if (this.#take('.')) keys.push(this.#next());
      else if (this.#take('[')) {
        keys.push(unquote(this.#next()));
        this.#expect(']');
      } else break;
    }
    return (row) =>
      keys.reduce<unknown>((value, key) => (isObject(value) ? memberAnyCase(value, key) : undefined), row);
  }

  #peek(ahead: number): string {
    return this.#tokens[this.#at + ahead] ?? '';
  }

  #next(): string {
    const text = this.#peek(0);
    if (text === '') throw refuse(this.#text);
    this.#at += 1;
    return text;
  }

  #take(text: string): boolean {
    if (this.#peek(0).toLowerCase() !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw refuse(this.#text);
  }
}

const OPERATORS: { readonly [operator: string]: (left: unknown, right: unknown) => boolean } = {
  eq: sameText,
  '==': sameText,
  ne: (left, right) => !sameText(left, right),
  '!=': (left, right) => !sameText(left, right),
  '=~': sameTextAnyCase,
  '!~': (left, right) => !sameTextAnyCase(left, right),
  has: (left, right) => textOf(left).toLowerCase().includes(textOf(right).toLowerCase()),
  has_cs: (left, right) => textOf(left).includes(textOf(right)),
  contains: (left, right) => textOf(left).toLowerCase().includes(textOf(right).toLowerCase()),
  startswith: (left, right) => textOf(left).toLowerCase().startsWith(textOf(right).toLowerCase()),
};

const CALLS: { readonly [name: string]: (...values: ReadonlyArray<unknown>) => boolean } = {
  contains: (value, part) => textOf(value).includes(textOf(part)),
  startswith: (value, part) => textOf(value).startsWith(textOf(part)),
  endswith: (value, part) => textOf(value).endsWith(textOf(part)),
  isempty: (value) => textOf(value) === '',
  isnotempty: (value) => textOf(value) !== '',
  isnull: (value) => value === undefined || value === null,
  isnotnull: (value) => value !== undefined && value !== null,
};

function sameText(left: unknown, right: unknown): boolean {
  return textOf(left) === textOf(right);
}

function sameTextAnyCase(left: unknown, right: unknown): boolean {
  return textOf(left).toLowerCase() === textOf(right).toLowerCase();
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Tags and properties keep their letters; Kusto's and OData's own columns are written in any case by their users. */
function memberAnyCase(object: JsonObject, key: string): unknown {
  if (key in object) return object[key];
  const found = Object.keys(object).find((name) => name.toLowerCase() === key.toLowerCase());
  return found === undefined ? undefined : object[found];
}

function unquote(text: string): string {
  const inner = text.slice(1, -1);
  return text.startsWith("'") ? inner.replaceAll("''", "'") : inner.replaceAll(/\\(.)/g, '$1');
}
