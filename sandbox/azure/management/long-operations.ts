import { ArmError, type ArmErrorBody } from '../arm/arm-error.ts';
import { drawGuid } from '../arm/guid.ts';
import { type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';
import type { Cloud } from '../state/cloud.ts';

/** How often it is looked at before it has ended. */
const LOOKS_BEFORE_THE_END = 1;

interface LongOperation {
  looksLeft: number;
  /** What it does when it ends well. Once. */
  readonly end: () => void;
  readonly error: ArmErrorBody | null;
  /** What the answer at its end has for a body; null: none. */
  readonly result: () => object | null;
}

/** Operations of the management plane: begun by a request, done when they have been looked at. */
export class LongOperations {
  readonly #cloud: Cloud;
  readonly #operations = new Map<string, LongOperation>();

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  /**
   * Begins one that a request asks for; the answer is its id. `result`: the body that follows a `Location` to its end.
   */
  begin({ ending }: ArmRequest, end: () => void = () => undefined, result: () => object | null = () => null): string {
    const id = drawGuid(this.#cloud.rng('long-operations'));
    this.#operations.set(id, { looksLeft: LOOKS_BEFORE_THE_END, end, error: ending, result });
    return id;
  }

  /** Where it stands, for a look that brings its end nearer. Null: there is none. */
  look(id: string): 'InProgress' | 'Succeeded' | ArmErrorBody | null {
    const found = this.#operations.get(id);
    if (found === undefined) return null;
    if (found.looksLeft > 0) {
      found.looksLeft -= 1;
      if (found.looksLeft === 0 && found.error === null) found.end();
      return 'InProgress';
    }
    return found.error ?? 'Succeeded';
  }

  resultOf(id: string): object | null {
    return this.#operations.get(id)?.result() ?? null;
  }
}

/** The headers that lead to an operation's status document, and to its result. */
export function leadTo(cloud: Cloud, request: ArmRequest, id: string): { readonly [name: string]: string } {
  const base = `${request.origin}/subscriptions/${cloud.options.subscriptionId}/operationresults/${id}`;
  const version = `api-version=${request.query.get('api-version') ?? ''}`;
  return {
    'Azure-AsyncOperation': `${base}/status?${version}`,
    Location: `${base}?${version}`,
    'Retry-After': '1',
  };
}

/** Only to the result, as Resource Manager's own operations do it. */
export function leadToResult(cloud: Cloud, request: ArmRequest, id: string): { readonly [name: string]: string } {
  const { 'Azure-AsyncOperation': _status, ...kept } = leadTo(cloud, request, id);
  return kept;
}

export function longOperationRoutes(cloud: Cloud, operations: LongOperations): ReadonlyArray<Route> {
  const looked = (id: string): 'InProgress' | 'Succeeded' | ArmErrorBody => {
    const state = operations.look(id);
    if (state === null) throw new ArmError(404, { code: 'NotFound', message: `The operation '${id}' is not known.` });
    return state;
  };
  const base = '/subscriptions/{subscription}/operationresults/{operation}';
  return [
    {
      method: 'GET',
      pattern: `${base}/status`,
      answer: (_request, { operation = '' }): ArmResponse => {
        const state = looked(operation);
        const body = typeof state === 'string' ? { status: state } : { status: 'Failed', error: state };
        return { status: 200, headers: {}, body: { name: operation, ...body } };
      },
    },
    {
      method: 'GET',
      pattern: base,
      answer: (request, { operation = '' }): ArmResponse => {
        const state = looked(operation);
        if (state === 'InProgress')
          return { status: 202, headers: leadToResult(cloud, request, operation), body: null };
        if (state !== 'Succeeded') throw new ArmError(409, state);
        return { status: 200, headers: {}, body: operations.resultOf(operation) };
      },
    },
  ];
}
