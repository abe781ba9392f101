import type { CheaperOfferings } from '../../shared/core/model/plan.ts';
import type { Plan, PlannedClaim, PlannedOffering } from '../../shared/core/model/plan.ts';
import { renderCheaper } from '../../shared/core/telling/cheaper/render-cheaper.ts';
import { plainCostOf, weighedPriceOf } from '../../shared/core/model/weighed-cost.ts';
import { renderMoney } from '../../shared/core/quantity/render-usd.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import { sizeText, zoneText } from './offering-text.ts';
import { PAGE_WIDTH } from './page-width.ts';
import { wrapText } from './text-table.ts';

/**
 * Choices that are explained, and reasons told of each: the dearest, and those that ruled out most. `-o json` has all.
 */
const CHOICES_TOLD = 3;
const REASONS_TOLD = 4;

/**
 * Why nothing cheaper was chosen, for the sizes on which most is spent. Empty where the cheapest was chosen throughout.
 */
export function renderCheaperOfferings({ claims }: Plan, currency: string): string {
  const choices = [...Map.groupBy(claims, ({ offering }) => `${offering.instanceType} ${offering.capacityType}`)]
    .map(([, own]) => own)
    .filter(([first]) => first !== undefined && first.cheaper.length > 0)
    .toSorted((a, b) => plainCostOf(b) - plainCostOf(a));
  const told = choices
    .slice(0, CHOICES_TOLD)
    .flatMap(([first]) => (first === undefined ? [] : [renderChoice(first, currency)]));
  if (told.length === 0) return '';
  const more = choices.length - told.length;
  const rest = more > 0 ? [`  and ${renderCount(more, 'more size')}: -o json has the reasons of every node`] : [];
  return ['Why nothing cheaper', ...told, ...rest].join('\n');
}

function renderChoice({ offering, runnerUp, cheaper, pods }: PlannedClaim, currency: string): string {
  const next =
    runnerUp === null
      ? 'no other offering holds its pods'
      : `next is ${nextTo(offering, runnerUp)}, ${renderMore(offering, runnerUp, currency)}`;
  const title = `${nameOf(offering)} at ${renderPrice(offering, currency)} for ${renderCount(pods.length, 'pod')}; ${next}`;
  // NodePools with the same sizes have the same to say.
  const told = [...new Set(cheaper.map((group) => renderGroup(group, currency)))];
  const more = told.length - REASONS_TOLD;
  return [
    wrapText(title, PAGE_WIDTH, '  '),
    ...told.slice(0, REASONS_TOLD).map((text) => wrapText(text, PAGE_WIDTH, '    ')),
    ...(more > 0 ? [`    and ${renderCount(more, 'more reason')}`] : []),
  ].join('\n');
}

function renderGroup({ offerings, instanceTypes, example, reason }: CheaperOfferings, currency: string): string {
  const many = offerings === 1 ? 'the offering' : `${offerings} offerings of ${renderCount(instanceTypes, 'size')}, as`;
  return `${many} ${nameOf(example)} at ${renderMoney(example.price, currency)}: ${renderCheaper(reason, currency)}`;
}

/** By what the choice was made: where risk counts, prices alone may say the opposite. */
function renderMore(offering: PlannedOffering, runnerUp: PlannedOffering, currency: string): string {
  const more = weighedPriceOf(runnerUp) - weighedPriceOf(offering);
  if (offering.risk === undefined && runnerUp.risk === undefined) {
    return more === 0 ? 'at the same price' : `${renderMoney(more, currency)} more`;
  }
  const counts = more === 0 ? 'counts as much' : `counts as ${renderMoney(more, currency)} more`;
  return `which at ${renderPrice(runnerUp, currency)} ${counts}`;
}

function renderPrice({ price, risk }: PlannedOffering, currency: string): string {
  const withRisk = risk === undefined ? '' : ` (${renderMoney(risk.weighedPrice, currency)} with risk)`;
  return `${renderMoney(price, currency)}${withRisk}`;
}

function nextTo(offering: PlannedOffering, runnerUp: PlannedOffering): string {
  return nameOf(runnerUp) === nameOf(offering) ? `zone ${zoneText(runnerUp.zone)}` : nameOf(runnerUp);
}

function nameOf({ instanceType, capacityType }: PlannedOffering): string {
  return `${sizeText(instanceType)}${capacityType === 'on-demand' ? '' : ` ${capacityType}`}`;
}
