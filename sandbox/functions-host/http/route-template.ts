/** One part of a route between slashes. */
type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string; readonly isOptional: boolean; readonly constraint: Constraint }
  | { readonly kind: 'rest'; readonly name: string };

/** What a parameter's text must look like. */
type Constraint = keyof typeof constraints;

/** The inline constraints known here, by ASP.NET's names. */
const constraints = {
  any: /^/,
  int: /^[+-]?\d+$/,
  long: /^[+-]?\d+$/,
  alpha: /^[a-z]+$/i,
  bool: /^(?:true|false)$/i,
  guid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
} as const;

/** A parsed route. */
export interface RouteTemplate {
  readonly text: string;
  readonly segments: ReadonlyArray<Segment>;
}

/**
 * Reads a route of ASP.NET's kind: literals, `{name}`, `{name?}`, `{name:int}` and `{*rest}` as whole segments. Throws,
 * naming the segment, on anything else.
 */
export function parseRouteTemplate(text: string): RouteTemplate {
  const parts = text.split('/').filter((part) => part !== '');
  const segments = parts.map((part, index) => parseSegment(part, index === parts.length - 1, text));
  return { text: parts.join('/'), segments };
}

function parseSegment(part: string, isLast: boolean, route: string): Segment {
  if (!/[{}]/.test(part)) return { kind: 'literal', text: part.toLowerCase() };
  const segment = parseParameter(part);
  if (segment === null) {
    throw new Error(
      `route "${route}": the segment "${part}" is not supported. Write a literal, {name}, {name?}, {name:int} or {*rest}.`,
    );
  }
  const mustEnd = segment.kind === 'rest' || segment.isOptional;
  if (mustEnd && !isLast) throw new Error(`route "${route}": "${part}" must be the last segment.`);
  return segment;
}

function parseParameter(part: string): Exclude<Segment, { readonly kind: 'literal' }> | null {
  const rest = /^\{\*{1,2}([A-Za-z_]\w*)\}$/.exec(part);
  if (rest !== null) return { kind: 'rest', name: rest[1] ?? '' };
  const match = /^\{([A-Za-z_]\w*)(?::([a-z]+))?(\?)?\}$/.exec(part);
  const [, name = '', constraint = 'any', question] = match ?? [];
  if (match === null || !isConstraint(constraint)) return null;
  return { kind: 'parameter', name, isOptional: question !== undefined, constraint };
}

function isConstraint(name: string): name is Constraint {
  return Object.hasOwn(constraints, name);
}

/** The parameters of a path (segments, still encoded) on a route; null when it does not match. Literals ignore case. */
export function matchRoute(
  template: RouteTemplate,
  path: ReadonlyArray<string>,
): Readonly<Record<string, string>> | null {
  const params: Record<string, string> = {};
  for (const [index, segment] of template.segments.entries()) {
    if (segment.kind === 'rest') return withRest(params, segment.name, path.slice(index));
    const text = path[index];
    if (text === undefined) return segment.kind === 'parameter' && segment.isOptional ? params : null;
    const decoded = decode(text);
    if (!fitsSegment(segment, decoded)) return null;
    if (segment.kind === 'parameter') params[segment.name] = decoded;
  }
  return path.length > template.segments.length ? null : params;
}

function fitsSegment(segment: Exclude<Segment, { readonly kind: 'rest' }>, text: string): boolean {
  if (segment.kind === 'literal') return segment.text === text.toLowerCase();
  return constraints[segment.constraint].test(text);
}

function withRest(params: Readonly<Record<string, string>>, name: string, rest: ReadonlyArray<string>) {
  return rest.length === 0 ? params : { ...params, [name]: rest.map(decode).join('/') };
}

/** A broken escape stays as it is: a malformed path is a path nobody serves, not an error of the host. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Orders routes by precedence, the more particular first: literal, constrained, plain, optional, rest; then by text.
 */
export function compareRoutes(a: RouteTemplate, b: RouteTemplate): number {
  const length = Math.max(a.segments.length, b.segments.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(a.segments[index]) - rank(b.segments[index]);
    if (difference !== 0) return difference;
  }
  return a.text < b.text ? -1 : Number(a.text > b.text);
}

function rank(segment: Segment | undefined): number {
  if (segment === undefined) return 0;
  if (segment.kind === 'literal') return 1;
  if (segment.kind === 'rest') return 5;
  if (segment.isOptional) return 4;
  return segment.constraint === 'any' ? 3 : 2;
}
