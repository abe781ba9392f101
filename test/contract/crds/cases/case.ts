/** An object and what becomes of it, at the API server and then at Karpenter. One row stands for one rule, one way. */
export interface Case {
  /** The rule, in words; the name of the test. */
  readonly rule: string;
  readonly object: ApiObject;
  /**
   * `refused` by the API server; `unusable`: stored, and refused by Karpenter, which no API server can see; or `good`.
   */
  readonly outcome: 'good' | 'unusable' | 'refused';
  /** The field that the parser names; null where it is good. */
  readonly path: string | null;
  /** The stored object that `object` replaces; null where it is created. */
  readonly previous: ApiObject | null;
}

/** Any object of ours, right or wrong. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** The object is stored and used. */
export function good(rule: string, object: ApiObject): Case {
  return { rule, object, outcome: 'good', path: null, previous: null };
}

/** The API server refuses the object, because of the field at `path`. */
export function refused(rule: string, object: ApiObject, path: string): Case {
  return { rule, object, outcome: 'refused', path, previous: null };
}

/** The API server stores the object; Karpenter then does not use it, because of the field at `path`. */
export function unusable(rule: string, object: ApiObject, path: string): Case {
  return { rule, object, outcome: 'unusable', path, previous: null };
}

/** A change from `previous` to `object` that is allowed. */
export function goodChange(rule: string, previous: ApiObject, object: ApiObject): Case {
  return { rule, object, outcome: 'good', path: null, previous };
}

/** A change from `previous` to `object` that the API server refuses, because of the field at `path`. */
export function refusedChange(rule: string, previous: ApiObject, object: ApiObject, path: string): Case {
  return { rule, object, outcome: 'refused', path, previous };
}

/** The class that every pool and claim here points at. */
export const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

/** An `In` requirement that is always right. */
export const linux = { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] };

type Fields = Readonly<Record<string, unknown>>;

/** A NodePool whose spec has these fields besides a minimal template. */
export function pool(spec: Fields = {}): ApiObject {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'general' },
    spec: { template: { spec: { nodeClassRef, requirements: [] } }, ...spec },
  };
}

/** A NodePool whose template's spec has these fields, and whose template has this metadata. */
export function poolOf(templateSpec: Fields, metadata: Fields = {}): ApiObject {
  return pool({ template: { metadata, spec: { nodeClassRef, requirements: [], ...templateSpec } } });
}

/** A NodePool with one requirement. */
export function poolRequiring(requirement: unknown): ApiObject {
  return poolOf({ requirements: [requirement] });
}

/** A NodeClaim whose spec has these fields besides the required ones. */
export function claim(spec: Fields = {}): ApiObject {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'general-abcde' },
    spec: { nodeClassRef, requirements: [], ...spec },
  };
}

/** A NodeOverlay whose spec has these fields besides the required one. */
export function overlay(spec: Fields = {}): ApiObject {
  return {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name: 'discount' },
    spec: { requirements: [], ...spec },
  };
}

/** A CapacityBuffer with this spec. */
export function buffer(spec: Fields): ApiObject {
  return {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'spare', namespace: 'default' },
    spec,
  };
}

/** An AKSNodeClass with this spec. */
export function nodeClass(spec: Fields = {}): ApiObject {
  return {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name: 'default' },
    spec,
  };
}

/** `count` different strings. */
export function many(count: number): ReadonlyArray<string> {
  return Array.from({ length: count }, (_, index) => `v${index}`);
}

/** `many(count)`, as the keys of a map to `value`. */
export function manyKeys(count: number, value: unknown): Fields {
  return Object.fromEntries(many(count).map((key) => [key, value]));
}
