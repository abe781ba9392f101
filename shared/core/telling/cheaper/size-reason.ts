import type { CheaperOfferings, PlannedClaim, PlannedOffering } from '../../model/plan.ts';
import { renderCount } from '../../quantity/render-count.ts';
import { renderMoney } from '../../quantity/render-usd.ts';
import { renderCheaper } from './render-cheaper.ts';

/** An annotation is read in a terminal, and every NodeClaim and Node in a snapshot carries it. */
const LENGTH_MAX = 300;

/**
 * Why the node was planned as this size, in one or two sentences: what it holds, why the largest group of cheaper offerings was ruled out, and
 * what the next best choice would cost. At most 300 characters. `currency`: what prices are in (ISO 4217).
 */
export function renderSizeReason(
  { pods, cheaper, runnerUp }: Pick<PlannedClaim, 'pods' | 'cheaper' | 'runnerUp'>,
  currency: string,
): string {
  const holds = `holds ${pods.length === 0 ? 'no pod yet' : renderCount(pods.length, 'pod')}`;
  const next = runnerUp === null ? 'no other offering would do' : `next best: ${renderOffering(runnerUp, currency)}`;
  const most = cheaper.toSorted((a, b) => b.offerings - a.offerings)[0];
  const why = most === undefined ? 'no offering costs less' : renderRuledOut(most, cheaper, currency);
  const text = `${holds}; ${why}; ${next}`;
  return text.length <= LENGTH_MAX ? text : `${text.slice(0, LENGTH_MAX - 1)}…`;
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
    offerings === 1 ? example.instanceType : `${offerings} cheaper offerings (such as ${example.instanceType})`;
  const rest = others === 0 ? '' : ` (${others} more for other reasons)`;
  return `${which} ruled out: ${renderCheaper(reason, currency)}${rest}`;
}
