import type { Clock } from '../../base/clock.ts';
import type { Registry, Resource } from './registry/resources.ts';
import type { Schemas } from './schema/schemas.ts';
import type { Store } from './store/store.ts';
import type { CustomKinds } from './custom/custom-kinds.ts';

/** All that the request code works on: one per running server. */
export interface ApiState {
  readonly clock: Clock;
  readonly store: Store;
  readonly registry: Registry;
  readonly schemas: Schemas;
  readonly customKinds: CustomKinds;
  readonly log: (line: string) => void;
}

/** What a write was asked to do beside its object. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  readonly fieldManager: string;
  /** True where a server-side apply makes the object, so that its manager owns what it applied and no defaults. */
  readonly applies: boolean;
  /** Collects texts for Warning headers. */
  readonly warnings: Array<string>;
}

/** A resource, and the object of it that a request is about. */
export interface Target {
  readonly resource: Resource;
  /** '' for cluster-scoped resources. */
  readonly namespace: string;
  readonly name: string;
}

/** Options of the server's own writes. */
export const serverWrite = (): WriteOptions => ({
  dryRun: false,
  fieldValidation: 'Ignore',
  fieldManager: 'kube-apiserver',
  applies: false,
  warnings: [],
});

/** The store's key of a target. */
export function storeKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The instant as API timestamps print it, in whole seconds. */
export function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** `group/version`, or the bare version for the core group. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}
