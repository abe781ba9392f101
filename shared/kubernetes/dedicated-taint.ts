import { markTaint } from './marks.ts';

/** A node as far as its taints go; null where there is none. */
interface Tainted {
  readonly spec?: { readonly taints?: ReadonlyArray<{ readonly key: string; readonly value?: string }> };
}

/** Is the node still kept for the pods that it was made for? */
export function isDedicated(node: Tainted | null): boolean {
  return node?.spec?.taints?.some(({ key }) => key === markTaint.dedicated.key) === true;
}

/** By what value it is kept, which the tolerations of those name that may come; null where it is open. */
export function dedicationIn(node: Tainted | null): string | null {
  return node?.spec?.taints?.find(({ key }) => key === markTaint.dedicated.key)?.value ?? null;
}
