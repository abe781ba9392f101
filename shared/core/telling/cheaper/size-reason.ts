import type { CheaperOfferings, PlannedClaim, PlannedOffering } from '../../model/plan.ts';
import { renderCount } from '../../quantity/render-count.ts';
import { renderMoney } from '../../quantity/render-usd.ts';
import { renderCheaper } from './render-cheaper.ts';

/** `kubectl describe` cuts the values of annotations here. */
const LENGTH_MAX = 140;

/**
 * Why the node was planned as this size: what it holds, why the largest group of cheaper offerings was ruled out, and,
 * where there is room for it, what the next best size would cost. At most 140 characters. `currency`: what prices are
 * in (ISO 4217).
 */
export function renderSizeReason(
  { pods, offering, cheaper, runnerUp }: Pick<PlannedClaim, 'pods' | 'offering' | 'cheaper' | 'runnerUp'>,
  currency: string,
): string {
  const holds = `holds ${pods.length === 0 ? 'no pod yet' : renderCount(pods.length, 'pod')}`;
  const most = cheaper.toSorted((a, b) => b.offerings - a.offerings)[0];
  const why = most === undefined ? 'no offering costs less' : renderRuledOut(most, cheaper, currency);
  const text = `${holds}; ${why}`;
  const whole = `${text}${renderNext(offering, runnerUp, currency)}`;
  if (whole.length <= LENGTH_MAX) return whole;
  return text.length <= LENGTH_MAX ? text : `${text.slice(0, LENGTH_MAX - 1)}…`;
}

/** The same size in another zone is no other answer to why it has this size. */
function renderNext(
  { instanceType, capacityType }: PlannedOffering,
  next: PlannedOffering | null,
  currency: string,
): string {
  if (next === null) return '; no other offering would do';
  if (next.instanceType === instanceType && next.capacityType === capacityType) return '';
  return `; next best: ${next.instanceType} (${next.capacityType}) at ${renderMoney(next.price, currency)} an hour`;
}

/** A size with what it costs, as people read it: `Standard_D8ls_v5 (spot) in westeurope-1 at $0.388 an hour`. */
export function renderOffering({ instanceType, capacityType, zone, price }: PlannedOffering, currency: string): string {
  return `${instanceType} (${capacityType}) in ${zone} at ${renderMoney(price, currency)} an hour`;
}

function renderRuledOut(
  { offerings, example, reason }: CheaperOfferings,
  all: ReadonlyArray<CheaperOfferings>,
  currency: string,
): string {
  const others = all.reduce((sum, one) => sum + one.offerings, 0) - offerings;
  const which =
    offerings === 1 ? example.instanceType : `${offerings} cheaper offerings, such as ${example.instanceType}`;
  const rest = others === 0 ? '' : `; ${others} more have other reasons`;
  return `ruled out ${which}: ${renderCheaper(reason, currency)}${rest}`;
}
