import { digest } from '../../contract/digest.ts';

/** Linux computer names end at 64 characters, and the VM of a claim is named `aks-<claim>`; hostnames at 63. */
const CLAIM_NAME_MAX = 59;
const SUFFIX_LENGTH = 8;

/** The NodeClaim that is number `index` of a decision: derived, so that executing a decision twice makes one claim. */
export function claimName(nodePool: string, decision: string, index: number): string {
  const suffix = digest(nodePool, decision, String(index)).slice(-SUFFIX_LENGTH);
  const stem = nodePool.slice(0, CLAIM_NAME_MAX - SUFFIX_LENGTH - 1).replace(/[-.]+$/, '');
  return `${stem}-${suffix}`;
}
