import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import { parseAmounts } from '../../../kubernetes/text/quantity.ts';

/**
 * A node with less than this share of what its claim expects has something wrong with it, not only what a machine keeps
 * for itself.
 */
const LEAST_PERCENT = 90;

/**
 * What a node has much less of than its claim expects, of what its pods asked for; null where it has all. As Karpenter.
 */
export function findShortfall({ spec, status }: NodeClaim, node: Node): string | null {
  const [told, has] = [status?.capacity ?? {}, node.status?.capacity ?? {}];
  const [expected, found] = [parseAmounts(told, 'down'), parseAmounts(has, 'down')];
  for (const name of Object.keys(spec.resources?.requests ?? {})) {
    const [amount, present] = [expected.get(name) ?? 0, found.get(name) ?? 0];
    if (present * 100 < amount * LEAST_PERCENT) {
      const said = `expected ${told[name] ?? 0} of resource ${name}, but found ${has[name] ?? 0}`;
      return `${said} (${Math.floor((present * 100) / amount)}% of expected)`;
    }
  }
  return null;
}
