import type { JsonObject } from '../json.ts';
import type { ApiState } from '../state.ts';
import type { Cause } from '../status-error.ts';

/**
 * What a built-in kind does beside the rules that hold for all objects. The functions may change the object they get.
 */
export interface KindRules {
  /** Fills in defaults; runs on every write. */
  readonly applyDefaults?: (object: JsonObject) => void;
  /** Runs once, before defaults: initial status, admission. */
  readonly prepareCreate?: (object: JsonObject, state: ApiState) => void;
  /** Runs before validation of an update of the main resource: keeps what users may not change. */
  readonly prepareUpdate?: (next: JsonObject, current: JsonObject) => void;
  readonly validate?: (object: JsonObject) => ReadonlyArray<Cause>;
  readonly validateUpdate?: (next: JsonObject, current: JsonObject) => ReadonlyArray<Cause>;
  /** Whether metadata.generation counts changes of the spec. */
  readonly hasGeneration?: boolean;
  /** Names are path segments (RBAC) or DNS labels (namespaces, services) instead of DNS subdomains. */
  readonly nameForm?: 'label' | 'segment';
  /** Kinds that accept a status at creation although they have the subresource. */
  readonly keepsStatusOnCreate?: boolean;
}
