import { capital, counted, renderClock, renderHourly } from '../view/amounts.ts';
import { harmless, harmlessLines } from '../../../shared/contract/harmless.ts';
import { shortageSentence } from '../tell/sentences.ts';
import type { Display, Progress } from './display.ts';

/** Between two lines about pods, so that a thousand of them fill no log. */
const PROGRESS_MS = 1_000;

/** One line for each thing that happens, without control codes: for pipes, logs and terminals that cannot do more. */
export function createPlainDisplay(print: (text: string) => void, now: () => number): Display {
  const write = (text: string): void => print(harmlessLines(text));
  let lastLine = '';
  let lastAt = 0;
  let lastShortages = '';
  const tell = (progress: Progress): void => {
    const shortages = progress.view.shortages.map(shortageSentence);
    if (shortages.join('\n') !== lastShortages) {
      lastShortages = shortages.join('\n');
      for (const sentence of shortages) write(`${stamp(progress.elapsedMs)}${sentence}\n`);
    }
    const line = renderProgress(progress);
    if (line === lastLine || now() - lastAt < PROGRESS_MS) return;
    lastLine = line;
    lastAt = now();
    write(`${stamp(progress.elapsedMs)}${line}\n`);
  };
  let latest: Progress | null = null;
  let isOver = false;
  return {
    started: (part, elapsedMs) => {
      write(`${stamp(elapsedMs)}${part} ✓\n`);
    },
    ready: (hints) => {
      write(`\n${hints.join('\n')}\n\n`);
    },
    said: ({ atMs, text }) => {
      write(`${stamp(atMs)}${harmless(text)}\n`);
    },
    event: () => undefined,
    show: (progress) => {
      if (isOver) return;
      latest = progress;
      tell(progress);
    },
    last: (text) => {
      const final = latest === null ? '' : renderProgress(latest);
      if (!isOver && latest !== null && final !== lastLine) write(`${stamp(latest.elapsedMs)}${final}\n`);
      isOver = true;
      write(`${text}\n`);
    },
    scroll: () => undefined,
    close: () => undefined,
  };
}

function stamp(ms: number): string {
  return `${renderClock(ms).padStart(6)}  `;
}

function renderProgress({ view }: Progress): string {
  const { running, starting, pending } = view.pods;
  const pods = [
    `${running} running`,
    ...(starting > 0 ? [`${starting} starting`] : []),
    ...(pending > 0 ? [`${pending} pending`] : []),
  ];
  return `Pods: ${pods.join(', ')}. ${capital(counted(view.nodes.length, 'node'))}, ${renderHourly(view.microUsdPerHour)}.`;
}
