import { paint, widthOf } from './ansi.ts';
import type { Display, Progress } from './display.ts';
import { renderClock } from '../view/amounts.ts';
import { harmlessLines } from '../../../shared/contract/harmless.ts';
import { keysHint } from './hints.ts';
import { clampScrolled, renderScreen, type Scrolled } from './render-screen.ts';

/** The terminal that the screen is drawn on. */
export interface Terminal {
  write(text: string): void;
  size(): { readonly columns: number; readonly rows: number };
  readonly colour: boolean;
  /** True when keys are read: the last hint says which. */
  readonly hasKeys: boolean;
  readonly now: () => number;
}

/** Redraws per second; more only costs a slow terminal its time. */
const FRAMES_PER_SECOND = 4;
const FRAME_MS = 1_000 / FRAMES_PER_SECOND;

/** Another page, which leaves what was on the terminal as it was; no cursor; no wrapping at the edge. */
const ENTER = '\u001B[?1049h\u001B[?25l\u001B[?7l\u001B[2J';
const LEAVE = '\u001B[?7h\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const CLEAR_LINE = '\u001B[K';
/** A terminal that knows them shows the frame at once; others ignore them. */
const BEGIN = '\u001B[?2026h';
const END = '\u001B[?2026l';

/** Redraws the whole state in place. It starts on the terminal's own page, and goes to another once all is ready. */
export function createScreenDisplay(terminal: Terminal): Display & { resized(): void } {
  let isOpen = false;
  let hints: ReadonlyArray<string> = [];
  let shown: Progress | null = null;
  let scrolled: Scrolled = { nodes: 0, news: 0 };
  let shownAt = 0;
  let timer: NodeJS.Timeout | null = null;
  const draw = (): void => {
    timer = null;
    shownAt = terminal.now();
    if (!isOpen || shown === null) return;
    const { columns, rows } = terminal.size();
    const keys = terminal.hasKeys ? [keysHint(shown.disruption)] : [];
    const content = { ...shown, hints: [...hints, ...keys], scrolled };
    scrolled = clampScrolled(content, { columns, rows });
    // A full line leaves the cursor on its last column, where clearing the rest of the line would take that column too.
    const lines = renderScreen(content, { columns, rows }).map(
      (line) => `${paint(line, terminal.colour)}${widthOf(line) < columns ? CLEAR_LINE : ''}`,
    );
    terminal.write(`${BEGIN}${HOME}${lines.join('\r\n')}${END}`);
  };
  const soon = (): void => {
    timer ??= setTimeout(draw, Math.max(0, shownAt + FRAME_MS - terminal.now()));
  };
  const close = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (isOpen) terminal.write(LEAVE);
    isOpen = false;
  };
  return {
    started: (part, elapsedMs) => {
      terminal.write(`${renderClock(elapsedMs).padStart(6)}  ${part} ✓\n`);
    },
    ready: (lines) => {
      hints = lines;
      terminal.write(ENTER);
      isOpen = true;
    },
    said: () => undefined,
    event: () => undefined,
    show: (progress) => {
      shown = progress;
      if (isOpen) soon();
    },
    scroll: (part, by) => {
      scrolled = { ...scrolled, [part]: scrolled[part] + by };
      if (isOpen) soon();
    },
    last: (text) => {
      close();
      terminal.write(`${harmlessLines(text)}\n`);
    },
    close,
    resized: () => {
      if (isOpen) terminal.write('\u001B[2J');
      soon();
    },
  };
}
