import { capital, counted, renderDuration, renderHourly } from '../view/amounts.ts';
import type { Percentiles } from './percentiles.ts';
import type { View } from '../view/view.ts';

/** What a run came to that somebody has ended. */
export interface Session {
  readonly elapsedMs: number;
  readonly view: View;
  readonly nodes: { readonly joined: number; readonly gone: number };
  /** How long pods waited that had no node at first; null where none of them has run. */
  readonly toRunning: Percentiles | null;
  readonly savedMicroUsdPerHour: number;
}

/** What happened, in three lines of at most 80 columns. */
export function renderSession({ elapsedMs, view, nodes, toRunning, savedMicroUsdPerHour: saved }: Session): string {
  const { running, starting, pending } = view.pods;
  const wait = pending + starting;
  const waiting = wait === 0 ? '' : `, ${counted(wait, 'pod')} ${wait === 1 ? 'waits' : 'wait'}`;
  const served =
    toRunning === null
      ? 'No pod had to wait for a node.'
      : `${counted(toRunning.count, 'pod')} waited for a node and ran: half within ${renderDuration(toRunning.p50)}.`;
  return [
    '',
    `In ${renderDuration(elapsedMs)}: ${counted(nodes.joined, 'node')} joined, ${counted(nodes.gone, 'node')} removed${saved > 0 ? `, which saves ${renderHourly(saved)}` : ''}.`,
    capital(served),
    `At the end: ${counted(running, 'pod')} on ${counted(view.nodes.length, 'node')} for ${renderHourly(view.microUsdPerHour)}${waiting}.`,
  ].join('\n');
}
