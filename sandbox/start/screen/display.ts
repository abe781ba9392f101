import type { Plans } from '../view/plan-gap.ts';
import type { Sentence, View } from '../view/view.ts';

/** What is known at one moment, for whoever shows it. */
export interface Progress {
  readonly view: View;
  readonly elapsedMs: number;
  readonly plans: Plans;
  /** What the removal of nodes has saved so far. */
  readonly savedMicroUsdPerHour: number;
  readonly news: ReadonlyArray<Sentence>;
  /** Whether nodes that are not needed go: `off` by order, `paused` where all NodePools are. */
  readonly disruption: 'on' | 'paused' | 'off';
}

/** Where a run shows itself: the live screen, plain lines, or JSON. None of its calls throws. */
export interface Display {
  /** A part of the sandbox is up. */
  started(part: string, elapsedMs: number): void;
  /** Everything is up; `hints` say how to talk to it. */
  ready(hints: ReadonlyArray<string>): void;
  /** Something happened. */
  said(sentence: Sentence): void;
  /** A structured event, for programs. */
  event(event: string, facts: Readonly<Record<string, unknown>>): void;
  /** The state of the cluster, whenever it may have changed. */
  show(progress: Progress): void;
  /**
   * Shows nodes further down the table, or earlier news, by so many; below 0 back. Nothing where all that is told
   * stays.
   */
  scroll(part: 'nodes' | 'news', by: number): void;
  /** Text that stays when all else has been wiped: a summary, the last word. */
  last(text: string): void;
  /** Gives the terminal back. Harmless when repeated. */
  close(): void;
}
