import type {
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from '../../kubernetes/device-manifest.ts';
import { toAmount } from './amount.ts';
import type { CompileSelector } from '../model/device-selector.ts';
import type { ClaimProblem } from '../model/left-reason.ts';

/** A selector with where it stands, for when it cannot be evaluated. */
export interface Selector {
  readonly expression: string;
  readonly origin: string;
}

/** One way to satisfy a request. */
export interface Alternative {
  /** `request`, or `request/alternative` where the request lists several. */
  readonly name: string;
  readonly deviceClass: string;
  /** The class's and the request's own together. */
  readonly selectors: ReadonlyArray<Selector>;
  /** How many devices; `all` that match. */
  readonly count: number | 'all';
  readonly admin: boolean;
  readonly tolerations: ReadonlyArray<DeviceToleration>;
  /** Capacity name to thousandths. */
  readonly capacity: ReadonlyMap<string, number>;
}

/** What a claim asks for once. */
export interface Request {
  readonly name: string;
  /** In the order in which they are tried. */
  readonly alternatives: ReadonlyArray<Alternative>;
}

/** Devices of the named requests, or of all where none is named, agree in an attribute or all differ in it. */
export interface Constraint {
  readonly kind: 'match' | 'distinct';
  readonly attribute: string;
  readonly requests: ReadonlySet<string>;
}

export interface ClaimTerms {
  readonly requests: ReadonlyArray<Request>;
  readonly constraints: ReadonlyArray<Constraint>;
}

/** What a claim asks for, or why nobody can say. */
export type CompiledClaim =
  { readonly kind: 'terms'; readonly terms: ClaimTerms } | { readonly kind: 'problem'; readonly why: ClaimProblem };

interface ClaimContext {
  /** By name. */
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly compile: CompileSelector;
}

/** Reads a claim's spec. What is of a later version of the API than ours is a problem, never ignored. */
export function compileClaim({ devices }: ResourceClaimSpec, known: ClaimContext): CompiledClaim {
  const requests = (devices?.requests ?? []).map((request) => toRequest(request, known));
  const constraints = (devices?.constraints ?? []).map(
    ({ requests: names = [], matchAttribute, distinctAttribute }) => {
      const scope = new Set(names);
      if (matchAttribute !== undefined) return { kind: 'match', attribute: matchAttribute, requests: scope } as const;
      if (distinctAttribute === undefined) return null;
      return { kind: 'distinct', attribute: distinctAttribute, requests: scope } as const;
    },
  );
  const problem = requests.find((request) => 'kind' in request);
  if (problem !== undefined && 'kind' in problem) return problem;
  if (constraints.includes(null)) {
    return unknown('a constraint', 'matchAttribute or distinctAttribute');
  }
  return {
    kind: 'terms',
    terms: {
      requests: requests.flatMap((request) => ('kind' in request ? [] : [request])),
      constraints: constraints.filter((constraint) => constraint !== null),
    },
  };
}

type Problem = Extract<CompiledClaim, { readonly kind: 'problem' }>;

function problemOf(why: ClaimProblem): Problem {
  return { kind: 'problem', why };
}

function unknown(part: string, known: string): Problem {
  return problemOf({ kind: 'unknown', part, known });
}

function toRequest({ name, exactly, firstAvailable = [] }: DeviceRequest, known: ClaimContext): Request | Problem {
  const asked: ReadonlyArray<readonly [string, ExactDeviceRequest]> =
    exactly === undefined ? firstAvailable.map((one) => [`${name}/${one.name}`, one]) : [[name, exactly]];
  if (asked.length === 0) {
    return unknown(`request ${name}`, 'exactly or firstAvailable');
  }
  const alternatives = asked.map(([full, one]) => toAlternative(full, one, known));
  const problem = alternatives.find((alternative) => 'kind' in alternative);
  if (problem !== undefined && 'kind' in problem) return problem;
  return { name, alternatives: alternatives.flatMap((alternative) => ('kind' in alternative ? [] : [alternative])) };
}

function toAlternative(
  name: string,
  asked: ExactDeviceRequest,
  { classes, compile }: ClaimContext,
): Alternative | Problem {
  const { deviceClassName = '', allocationMode = 'ExactCount', count = 1, tolerations = [] } = asked;
  const deviceClass = classes.get(deviceClassName);
  if (deviceClass === undefined) {
    return problemOf({ kind: 'class-missing', request: name, deviceClass: deviceClassName });
  }
  if (allocationMode !== 'ExactCount' && allocationMode !== 'All') {
    return unknown(`the allocation mode of request ${name}`, 'ExactCount or All');
  }
  const selectors = [
    ...(deviceClass.spec?.selectors ?? []).map((one) => toSelector(one, `class ${deviceClassName}`, compile)),
    ...(asked.selectors ?? []).map((one) => toSelector(one, `request ${name}`, compile)),
  ];
  const problem = selectors.find((one) => 'kind' in one);
  if (problem !== undefined && 'kind' in problem) return problem;
  return {
    name,
    deviceClass: deviceClassName,
    selectors: selectors.flatMap((one) => ('kind' in one ? [] : [one])),
    count: allocationMode === 'All' ? 'all' : count,
    admin: asked.adminAccess === true,
    tolerations,
    capacity: amountsOf(asked.capacity),
  };
}

function amountsOf(capacity: ExactDeviceRequest['capacity']): ReadonlyMap<string, number> {
  return new Map(Object.entries(capacity?.requests ?? {}).map(([key, text]) => [key, toAmount(text, 'up')]));
}

function toSelector({ cel }: DeviceSelector, origin: string, compile: CompileSelector): Selector | Problem {
  if (cel === undefined) return unknown(`a selector of ${origin}`, 'cel');
  const compiled = compile(cel.expression);
  if (typeof compiled === 'function') return { expression: cel.expression, origin };
  return problemOf({ kind: 'selector', origin, expression: cel.expression, error: compiled.error });
}
