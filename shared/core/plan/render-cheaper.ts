import { renderForPeople } from '../quantity/render-for-people.ts';
import { renderTaint } from '../scheduling/taints.ts';
import type { CheaperReason } from './cheaper.ts';
import { renderWanted } from './render-refusal.ts';

/** Why offerings that cost less were refused, in words without a full stop. "It" is any of them. */
export function renderCheaper(reason: CheaperReason): string {
  switch (reason.kind) {
    case 'taint':
      return `${reason.pod} does not tolerate taint ${renderTaint(reason.taint)}`;
    case 'pod-requirement':
      return `${reason.pod} asks for ${renderWanted(reason.wanted)}`;
    case 'pod-preference':
      return `${reason.pod} prefers others`;
    case 'volume':
      return `a volume of ${reason.pod} cannot be there`;
    case 'host-port':
      return `a daemonset takes a host port of ${reason.pod} there`;
    case 'too-small': {
      const { resource } = reason;
      const wanted = renderForPeople(resource, reason.wanted, 'up');
      return `too small: the pods want ${wanted} ${resource}, it has ${renderForPeople(resource, reason.has, 'down')}`;
    }
    case 'unavailable':
      return 'not available now';
    case 'shunned':
      return `${reason.why === 'burstable' ? 'burstable' : 'of a retired generation'}, and the NodePool does not name it`;
    case 'weight':
      return 'its NodePool has less weight than one that can take the pods';
    case 'topology':
      return `rules about other pods allow no other ${reason.key}`;
    case 'limit': {
      const { resource } = reason;
      const wanted = renderForPeople(resource, reason.wanted, 'up');
      return `it takes ${wanted} ${resource} more of the limits, which leave ${renderForPeople(resource, reason.left, 'down')}`;
    }
    case 'min-values':
      return `too few instance types would be left for minValues of ${reason.keys.join(' and ')}`;
    case 'overlooked':
      return 'it would do: the search for a cheap plan did not come to it';
    default:
      return reason satisfies never;
  }
}
