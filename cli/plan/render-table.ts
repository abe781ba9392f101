import type { LeftPod, Plan } from '../../shared/core/model/plan.ts';
import type { LeftReason } from '../../shared/core/model/left-reason.ts';
import { renderLeftReason } from '../../shared/core/telling/reasons/render-left-reason.ts';
import type { ProvisioningInput } from '../../shared/core/model/provisioning-input.ts';
import { renderMoney, withCurrency } from '../../shared/core/quantity/render-usd.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import { PAGE_WIDTH } from './page-width.ts';
import type { PlanDocument } from '../documents/plan-format.ts';
import { renderCheaperOfferings } from './render-cheaper-offerings.ts';
import { renderClaims } from './render-claims.ts';
import type { Solved } from './solve.ts';
import { cutColumn, textTable, wrapText } from './text-table.ts';

/** The plan for people, within 80 columns. `prices` says where they are from. */
export function renderTable(solved: Solved, document: PlanDocument, input: ProvisioningInput, prices: string): string {
  const { plan } = solved;
  const parts = [
    renderClaims(plan, document, input),
    nominationsPart(document),
    buffersPart(document),
    renderCheaperOfferings(plan, document.summary.currency),
    leftPart(plan.left),
    summaryPart(plan, document, prices),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function nominationsPart({ nominations }: PlanDocument): string {
  if (nominations.length === 0) return '';
  const titles = ['EXISTING NODE', 'PODS', 'NAMES'];
  const rows = nominations.map(({ node, pods }) => [node, String(pods.length), namesOf(pods)]);
  const cut = cutColumn(titles, rows, { column: 2, width: PAGE_WIDTH });
  return textTable(titles, cutColumn(titles, cut, { column: 0, width: PAGE_WIDTH }), ['left', 'right', 'left']);
}

/** As many names as fit a line; `-o json` has them all. */
const NAMES_SHOWN = 3;

function namesOf(names: ReadonlyArray<string>): string {
  const more = names.length - NAMES_SHOWN;
  return more <= 0 ? names.join(', ') : `${names.slice(0, NAMES_SHOWN).join(', ')} and ${more} more`;
}

function buffersPart({ buffers = [] }: PlanDocument): string {
  if (buffers.length === 0) return '';
  const titles = ['BUFFER', 'PODS', 'ROOM FOR THEM'];
  const rows = buffers.map(({ buffer, pods, nominations, nodeClaims, left }) => {
    const places = [
      ...nominations.map((one) => `${one.pods} on ${one.node}`),
      ...nodeClaims.map((one) => `${one.pods} on ${one.name}`),
    ];
    return [buffer, String(pods), namesOf([...places, ...(left === 0 ? [] : [`${left} nowhere`])])];
  });
  const cut = cutColumn(titles, rows, { column: 2, width: PAGE_WIDTH });
  const table = textTable(titles, cutColumn(titles, cut, { column: 0, width: PAGE_WIDTH }), ['left', 'right', 'left']);
  return [table, ...buffers.flatMap(bufferReasons)].join('\n');
}

type Buffer = NonNullable<PlanDocument['buffers']>[number];

function bufferReasons({ buffer, reasons }: Buffer): ReadonlyArray<string> {
  return reasons.map(({ nodePool, detail, fix }) =>
    wrapText(
      `${buffer}: ${nodePool === null ? '' : `NodePool ${nodePool}: `}${detail}. To fix it: ${fix}.`,
      PAGE_WIDTH,
      '    ',
    ),
  );
}

/** Pods that are left for the same reasons are told together. */
function leftPart(left: ReadonlyArray<LeftPod>): string {
  if (left.length === 0) return '';
  const groups = Map.groupBy(left, ({ refusals }) => JSON.stringify(refusals));
  const texts = [...groups.values()].map((pods) => {
    const names = wrapText(namesOf(pods.map(({ pod }) => pod.name)), PAGE_WIDTH, '  ');
    const reasons = (pods[0]?.refusals ?? []).map((reason) => wrapText(renderReason(reason), PAGE_WIDTH, '    '));
    return [names, ...reasons].join('\n');
  });
  return [`Without a place: ${renderCount(left.length, 'pod')}`, ...texts].join('\n');
}

function renderReason(reason: LeftReason): string {
  const { nodePool } = reason;
  const { detail, fix } = renderLeftReason(reason);
  return `${nodePool === null ? '' : `NodePool ${nodePool}: `}${detail}. To fix it: ${fix}.`;
}

/** The hours that Azure's own calculator takes for a month. */
const HOURS_PER_MONTH = 730;

function summaryPart(plan: Plan, { summary, nodeClaims, nominations }: PlanDocument, prices: string): string {
  const { pods, currency, solveMs } = summary;
  const placed = [
    `${renderCount(pods.placed, 'pod')} on ${renderCount(nodeClaims.length, 'new node')}`,
    ...(nominations.length === 0 ? [] : [`${pods.nominated} on ${renderCount(nominations.length, 'existing node')}`]),
    ...(pods.left === 0 ? [] : [`${pods.left} left`]),
  ];
  const month = withCurrency(((plan.cost * HOURS_PER_MONTH) / 1e6).toFixed(2), currency);
  const cost =
    plan.cost === 0
      ? []
      : [`New nodes cost ${renderMoney(plan.cost, currency)} per hour, ${month} per month (${HOURS_PER_MONTH} h).`];
  const risk = renderRisk(plan, summary);
  return [
    `${placed.join(', ')}.`,
    ...cost,
    renderGap(plan, summary),
    ...risk,
    `Planned in ${solveMs} ms. Prices: ${prices}.`,
  ]
    .map((line) => wrapText(line, PAGE_WIDTH))
    .join('\n');
}

/** Above this the bound most likely leaves out a rule that the plan obeys: the share would read as waste. */
const TELLING_GAP = 0.1;

function renderGap({ cost, lowerBound }: Plan, { currency, gap }: PlanDocument['summary']): string {
  if (cost === 0) return 'No new nodes are needed.';
  if (cost === lowerBound) return 'No plan for these pods costs less: this is proved.';
  if (gap === null) return 'How much cheaper a plan could be is not known.';
  if (gap > TELLING_GAP) {
    return `No plan for these pods costs less than ${renderMoney(lowerBound, currency)}. The bound counts requests, node rules, zones, host ports and limits per node. It leaves out weights and limits of NodePools, preferences, and rules between pods of different workloads, so it does not tell how far this plan is from the cheapest.`;
  }
  return `No plan for these pods costs less than ${renderMoney(lowerBound, currency)}: this one is at most ${percent(gap)} above the cheapest.`;
}

/** What the plan was chosen by, where evictions make that more than what it costs. */
function renderRisk(
  { weighed: { cost, lowerBound } }: Plan,
  { currency, weighed }: PlanDocument['summary'],
): ReadonlyArray<string> {
  if (weighed === undefined || cost === 0) return [];
  const { gap } = weighed;
  const proof =
    cost === lowerBound
      ? 'no plan counts as less: this is proved'
      : gap === null || gap > TELLING_GAP
        ? 'how little one could count as is not known'
        : `no plan counts as less than ${renderMoney(lowerBound, currency)}, so that it is at most ${percent(gap)} above the least`;
  return [
    `It was chosen by price and risk: with what evictions cost it counts as ${renderMoney(cost, currency)} per hour; ${proof}.`,
  ];
}

/** Rounded up, so that the promise holds. */
function percent(share: number): string {
  const hundredths = Math.ceil(share * 10_000 - 1e-6);
  return `${(hundredths / 100).toFixed(2)} %`;
}
