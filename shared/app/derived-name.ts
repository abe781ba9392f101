/** FNV-1a over UTF-16 code units, 64 bits, as 13 characters of base 36: short, safe in names, the same everywhere. */
export function digest(...parts: ReadonlyArray<string>): string {
  let value = 0xcbf29ce484222325n;
  for (const part of parts) {
    for (let index = 0; index <= part.length; index++) {
      // A terminator after each part keeps ('ab','c') apart from ('a','bc').
      const unit = index < part.length ? BigInt(part.charCodeAt(index)) : 0xffffn;
      value = BigInt.asUintN(64, (value ^ unit) * 0x100000001b3n);
    }
  }
  return value.toString(36).padStart(13, '0');
}

/** Linux computer names end at 64 characters, and the VM of a claim is named `aks-<claim>`; hostnames at 63. */
const CLAIM_NAME_MAX = 59;
const SUFFIX_LENGTH = 8;

/** The NodeClaim that is number `index` of a decision: derived, so that executing a decision twice makes one claim. */
export function claimName(nodePool: string, decision: string, index: number): string {
  const suffix = digest(nodePool, decision, String(index)).slice(-SUFFIX_LENGTH);
  const stem = nodePool.slice(0, CLAIM_NAME_MAX - SUFFIX_LENGTH - 1).replace(/[-.]+$/, '');
  return `${stem}-${suffix}`;
}
