import type { CompileSelector } from '../core/dra/selectors.ts';

/** Gets what reads selectors of devices; it is loaded at the first call. Null while resource claims (DRA) are ignored. */
export type DeviceSelectors = (() => Promise<CompileSelector>) | null;
