import { withCurrency } from '../../shared/core/quantity/render-usd.ts';
import { PAGE_WIDTH } from '../plan/page-width.ts';
import { cutColumn, textTable, wrapText } from '../plan/text-table.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import type { DisruptionDocument } from '../documents/disruption-format.ts';

/** Hours of a month, as Azure's price calculator counts them. */
const HOURS_PER_MONTH = 730;

/** Steps, and nodes of one step, that are shown at most; `-o json` has them all. */
const STEPS_SHOWN = 20;
const NODES_SHOWN = 3;

/** The plan for people: what goes, what comes, what that saves, and why the rest stays. */
export function renderDisruption(document: DisruptionDocument, prices: string): string {
  const { steps, nodeClaims, summary, before, after } = document;
  const nothing = steps.length === 0;
  const parts = [
    nothing ? 'No node can be removed.' : renderSummary(document),
    ...(nothing ? [] : [renderSteps(steps, summary.currency)]),
    ...(nodeClaims.length === 0 ? [] : [renderNew(nodeClaims, summary.currency)]),
    renderKeptNodes(document.kept.filter(({ reason }) => reason !== LEAVING)),
    renderLeaving(document.kept),
    `${renderCount(before.nodes, 'node')} at ${withCurrency(before.costPerHour, summary.currency)}/h now, ${after.nodes} at ${withCurrency(after.costPerHour, summary.currency)}/h then.\n` +
      `${renderBound(document)}\n` +
      `Planned in ${summary.solveMs} ms. Prices: ${prices}.`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** A bound of 0 only says that nothing is known. */
function renderBound({ after, summary }: DisruptionDocument): string {
  return Number(after.lowerBoundPerHour) === 0
    ? 'How little the cluster could cost is not known.'
    : `No arrangement that respects the rules costs less than ${withCurrency(after.lowerBoundPerHour, summary.currency)}/h.`;
}

function renderSummary({ summary, steps }: DisruptionDocument): string {
  const monthly = Number(summary.savedPerHour) * HOURS_PER_MONTH;
  const created = summary.nodesCreated === 0 ? '' : `, ${summary.nodesCreated} new`;
  return (
    `${renderCount(summary.nodesRemoved, 'node')} to remove${created}, ${renderCount(summary.podsMoved, 'pod')} to move, ` +
    `in ${renderCount(steps.length, 'step')}.\n` +
    `Saves ${withCurrency(summary.savedPerHour, summary.currency)}/h, about ${withCurrency(String(Math.round(monthly)), summary.currency)} a month.`
  );
}

function renderSteps(steps: DisruptionDocument['steps'], currency: string): string {
  const titles = ['STEP', 'REASON', 'REMOVES', 'CREATES', 'MOVES', 'SAVES/H', 'NODES'];
  const rows = steps
    .slice(0, STEPS_SHOWN)
    .map(({ reason, remove, create, moves, savedPerHour }, index) => [
      String(index + 1),
      reason,
      String(remove.length),
      String(create.length),
      String(moves.length),
      withCurrency(savedPerHour, currency),
      named(remove),
    ]);
  const cut = cutColumn(titles, rows, { column: titles.length - 1, width: PAGE_WIDTH + 40 });
  const more = steps.length > STEPS_SHOWN ? `\nand ${steps.length - STEPS_SHOWN} more steps: see -o json` : '';
  return `${textTable(titles, cut, ['right', 'left', 'right', 'right', 'right', 'right', 'left'])}${more}`;
}

function renderNew(nodeClaims: DisruptionDocument['nodeClaims'], currency: string): string {
  const rows = nodeClaims.map(({ name, instanceType, zone, capacityType, pricePerHour }) => [
    name,
    instanceType,
    zone,
    capacityType,
    withCurrency(pricePerHour, currency),
  ]);
  return textTable(['NEW NODE', 'SIZE', 'ZONE', 'CAPACITY', 'PRICE/H'], rows, [
    'left',
    'left',
    'left',
    'left',
    'right',
  ]);
}

/** The reason of nodes that are going already, which nobody decides about any more. */
const LEAVING = 'leaving';

function renderLeaving(kept: DisruptionDocument['kept']): string {
  const names = kept.filter(({ reason }) => reason === LEAVING).map(({ node }) => node);
  if (names.length === 0) return '';
  const [are, they] = names.length === 1 ? ['is', 'It counts'] : ['are', 'They count'];
  return wrapText(`${named(names)} ${are} being removed already. ${they} in both sums below.`, PAGE_WIDTH, '');
}

/** Nodes that stay for one reason together: the sentence of one of them, where it names what differs. */
function renderKeptNodes(kept: DisruptionDocument['kept']): string {
  if (kept.length === 0) return '';
  const groups = [...Map.groupBy(kept, ({ reason }) => reason)].toSorted(
    ([a, own], [b, other]) => other.length - own.length || (a < b ? -1 : 1),
  );
  const lines = groups.map(([reason, nodes]) => {
    const [first] = nodes;
    const isOne = new Set(nodes.map(({ detail }) => detail)).size === 1;
    const example = isOne ? (first?.detail ?? '') : `${first?.node}: ${first?.detail}`;
    return wrapText(
      `${isOne ? '' : 'such as '}${example}`,
      PAGE_WIDTH,
      `  ${String(nodes.length).padStart(5)} ${reason}: `,
    );
  });
  return `${renderCount(kept.length, 'node')} to keep:\n${lines.join('\n')}`;
}

function named(nodes: ReadonlyArray<string>): string {
  const more = nodes.length - NODES_SHOWN;
  return `${nodes.slice(0, NODES_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
