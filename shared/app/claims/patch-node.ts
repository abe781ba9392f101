import { taint } from '../../contract/names.ts';
import { otherTaints } from '../../kubernetes/disrupted-taint.ts';
import type { Node } from '../../kubernetes/manifest.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Ports } from '../ports/ports.ts';
import { written } from './node-claim.ts';

/** A node that starts is written by its kubelet about twice a second; losing five times in a row is not chance. */
const ATTEMPTS_MAX = 5;

/**
 * Writes what `change` makes of a node, on condition that it is still the one that was read; a conflict is met with a
 * fresh look. Returns the node as it is then, null when it is gone. Throws RetryableError when it changes all the time.
 */
export async function patchNode(ports: Ports, read: Node, change: (node: Node) => object): Promise<Node | null> {
  const key = { name: read.metadata.name, namespace: null };
  let node = read;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const outcome = await ports.kubernetes.patch('Node', key, change(node));
    if (outcome.kind !== 'conflict') return written(outcome, key.name);
    const fresh = await ports.kubernetes.get('Node', key);
    if (fresh === null) return null;
    node = fresh;
  }
  throw new RetryableError(`writing ${key.name}: it changed ${ATTEMPTS_MAX} times meanwhile`, { retryAfterMs: 200 });
}

/** Keeps new pods off a node by Karpenter's taint, before it is removed. Returns and throws what `patchNode` does. */
export function closeNode(ports: Ports, read: Node): Promise<Node | null> {
  return patchNode(ports, read, (node) => ({
    metadata: { resourceVersion: node.metadata.resourceVersion },
    spec: { taints: [...otherTaints(node), taint.disrupted] },
  }));
}
