import type { Node, NodePool } from '../../kubernetes/manifest.ts';
import type { EventNote } from './events.ts';

/** An event on a Node. */
export function eventAboutNode(
  { metadata: { name, uid = '' } }: Node,
  type: EventNote['type'],
  reason: string,
  message: string,
): EventNote {
  return { regarding: { apiVersion: 'v1', kind: 'Node', name, namespace: null, uid }, type, reason, message };
}

/** An event on a NodePool. */
export function eventAboutPool(
  { metadata: { name, uid = '' } }: Pick<NodePool, 'metadata'>,
  type: EventNote['type'],
  reason: string,
  message: string,
): EventNote {
  return {
    regarding: { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name, namespace: null, uid },
    type,
    reason,
    message,
  };
}
