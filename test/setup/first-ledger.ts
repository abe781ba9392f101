import type { LedgerState } from '../../shared/ports/store.ts';

/** The ledger of a cluster for which nothing has been decided yet. */
export const FIRST_LEDGER: LedgerState = {
  generation: 0,
  decision: null,
  executed: true,
  claimsResourceVersion: null,
  heardAtMs: null,
  token: null,
};
