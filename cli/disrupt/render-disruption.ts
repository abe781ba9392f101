import { textTable } from '../plan/text-table.ts';
import type { DisruptionDocument } from './disruption-format.ts';

/** The plan for people. */
export function renderDisruption(document: DisruptionDocument, prices: string): string {
  return `${textTable(
    ['REASON'],
    document.steps.map(({ reason }) => [reason]),
    ['left'],
  )}\n${prices}\n`;
}
