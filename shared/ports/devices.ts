import type { CompileSelector } from '../core/model/device-selector.ts';

/**
 * Gets what reads selectors of devices; it is loaded at the first call. Null while resource claims (DRA) are ignored.
 */
export type DeviceSelectors = (() => Promise<CompileSelector>) | null;
