import { renderForPeople } from '../../quantity/render-for-people.ts';
import { renderMoney, renderPercent } from '../../quantity/render-usd.ts';
import { renderTaint } from '../../rules/taints.ts';
import type { CheaperReason } from '../../model/cheaper.ts';
import { renderWanted } from '../reasons/render-left-reason.ts';

/**
 * Why offerings that cost less were ruled out, in words without a full stop. "It" is any of them. `currency`: what
 * prices are in (ISO 4217).
 */
export function renderCheaper(reason: CheaperReason, currency: string): string {
  // The kind picks the renderer of its own reason, which the compiler does not follow.
  // oxlint-disable-next-line no-unsafe-type-assertion
  const render = renderers[reason.kind] as (one: CheaperReason, currency: string) => string;
  return render(reason, currency);
}

const renderers: {
  readonly [Kind in CheaperReason['kind']]: (
    reason: Extract<CheaperReason, { readonly kind: Kind }>,
    currency: string,
  ) => string;
} = {
  taint: ({ pod, taint }) => `${pod} does not tolerate taint ${renderTaint(taint)}`,
  'pod-requirement': ({ pod, wanted }) => `${pod} asks for ${renderWanted(wanted)}`,
  'pod-preference': ({ pod }) => `${pod} prefers other nodes`,
  volume: ({ pod }) => `a volume of ${pod} cannot be attached there`,
  'host-port': ({ pod }) => `a daemonset takes a host port of ${pod} there`,
  devices: ({ pod }) => `the devices that ${pod} claims were not found there`,
  'too-small': ({ resource, wanted, has }) =>
    `too small: the pods want ${renderForPeople(resource, wanted, 'up')} ${resource}, it has ${renderForPeople(resource, has, 'down')}`,
  unavailable: () => 'not available now',
  shunned: ({ why }) =>
    `${why === 'burstable' ? 'burstable' : 'of a retired generation'}, and the NodePool does not name it`,
  'eviction-risk': ({ evictionsPerHour, weighedPrice, chosenWeighedPrice }, currency) =>
    `evicted with a chance of ${renderPercent(evictionsPerHour)} an hour, so that it counts as ${renderMoney(weighedPrice, currency)}, and the choice as ${renderMoney(chosenWeighedPrice, currency)}`,
  'spot-storm': ({ evicted, of, refusedSizes, until, weighedPrice, chosenWeighedPrice }, currency) =>
    `${refusedSizes > 0 ? `Azure had no spot of ${refusedSizes} sizes in its zone` : `Azure evicted ${evicted} of ${of} spot VMs like it`} within ten minutes, so that until ${until} it counts as ${renderMoney(weighedPrice, currency)}, and the choice as ${renderMoney(chosenWeighedPrice, currency)}`,
  weight: () => 'its NodePool has less weight than one that can take the pods',
  topology: ({ key }) => `rules about other pods allow no other ${key}`,
  limit: ({ resource, wanted, left }) =>
    `it takes ${renderForPeople(resource, wanted, 'up')} ${resource} more of the limits, which leave ${renderForPeople(resource, left, 'down')}`,
  'min-values': ({ keys }) => `too few instance types would be left for minValues of ${keys.join(' and ')}`,
  overlooked: () => 'it would fit: the search did not reach it in its time',
};
