import type { ArmErrorBody } from './arm-error.ts';
import { textAt, type JsonObject } from './json.ts';

/** One request to the double, read to its end. */
export interface ArmRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined };
  /** Empty for a request without a body. */
  readonly body: JsonObject;
  /** The body as it came: what is no JSON goes to other hosts than Resource Manager's. */
  readonly bytes: Buffer;
  /** What the operation that this request begins is to end with; null: well. */
  readonly ending: ArmErrorBody | null;
  /** `http://127.0.0.1:PORT`, or what a proxy before it is reached by: what links and operation headers begin with. */
  readonly origin: string;
}

/** One answer. A null body is sent as none, a text as it is, and everything else as JSON. */
export interface ArmResponse {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: object | string | null;
}

/** What is served under other names than Resource Manager's: every host whose name ends so. */
export interface Host {
  readonly suffix: string;
  /** `name`: what stands before the suffix. */
  readonly routes: (name: string) => ReadonlyArray<Route>;
}

/** One route. Literals of the pattern match in any case; `{name}` takes one segment. */
export interface Route {
  readonly method: string;
  readonly pattern: string;
  readonly answer: (request: ArmRequest, parameters: Parameters) => ArmResponse | Promise<ArmResponse>;
}

/** What a route's pattern took from the path, by name. */
export type Parameters = { readonly [name: string]: string };

/** The route of a request and its parameters; `otherMethod` when only the method is wrong; null when there is none. */
export function findRoute(
  routes: ReadonlyArray<Route>,
  method: string,
  path: string,
): { readonly route: Route; readonly parameters: Parameters } | 'otherMethod' | null {
  const matches = routes.flatMap((route) => {
    const parameters = match(route.pattern, path);
    return parameters === null ? [] : [{ route, parameters }];
  });
  const found = matches.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  return matches.length > 0 ? 'otherMethod' : null;
}

/** A 200 with a JSON body. */
export function ok(body: object): ArmResponse {
  return { status: 200, headers: {}, body };
}

/** The answer with the etag of its body as a header, as ARM has it on a single resource. */
export function withEtag(answer: ArmResponse): ArmResponse {
  const etag = textAt(answer.body, 'etag');
  return etag === null ? answer : { ...answer, headers: { ...answer.headers, ETag: etag } };
}

function match(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split('/');
  const given = path.replace(/\/+$/, '').split('/');
  if (wanted.length !== given.length) return null;
  const pairs = wanted.map((segment, index) => [segment, given[index] ?? ''] as const);
  if (!pairs.every(([segment, text]) => isParameter(segment) || segment.toLowerCase() === text.toLowerCase()))
    return null;
  const taken = pairs.filter(([segment]) => isParameter(segment));
  return Object.fromEntries(taken.map(([segment, text]) => [segment.slice(1, -1), decode(text)]));
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
