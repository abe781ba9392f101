import type { Node } from '../../kubernetes/manifest.ts';
import type { EventNote } from '../events.ts';

/** An event on a Node. */
export function eventAboutNode(
  { metadata: { name, uid = '' } }: Node,
  type: EventNote['type'],
  reason: string,
  message: string,
): EventNote {
  return { regarding: { apiVersion: 'v1', kind: 'Node', name, namespace: null, uid }, type, reason, message };
}
