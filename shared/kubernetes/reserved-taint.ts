import { markTaint } from './marks.ts';

/** A node as far as its taints go; null where there is none. */
interface Tainted {
  readonly spec?: { readonly taints?: ReadonlyArray<{ readonly key: string }> };
}

/** Is the node still kept for the pods that it was made for? */
export function isReserved(node: Tainted | null): boolean {
  return node?.spec?.taints?.some(({ key }) => key === markTaint.reserved.key) === true;
}
