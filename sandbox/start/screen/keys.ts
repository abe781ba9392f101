import type { ReadStream } from 'node:tty';

/** What each key does. */
export interface KeyActions {
  readonly evict: () => void;
  readonly scaleBy: (replicas: number) => void;
  /** Lets nodes go that are not needed, or stops that. */
  readonly switchDisruption: () => void;
  /** Nodes further down, or earlier news, by so many; below 0 back. */
  readonly scroll: (part: 'nodes' | 'news', by: number) => void;
  readonly quit: () => void;
}

const STEP = 10;
/** Sentences that a page of news is. */
const NEWS_STEP = 5;

const ESCAPE = '\u001B';
/** A key that is more than one character, as terminals send it, or one character. */
const KEY = new RegExp(`${ESCAPE}(?:\\[|O)[0-9;]*[A-Za-z~]|[^]`, 'gu');

/** What keys are read from. */
export type Keyboard = Pick<ReadStream, 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>;

/** Reads single keys from a terminal until the answer is called, which gives the terminal back as it was. */
export function listenForKeys(input: Keyboard, actions: KeyActions): () => void {
  const { evict, scaleBy, switchDisruption, scroll, quit } = actions;
  const byKey: Readonly<Record<string, () => void>> = {
    e: evict,
    '+': () => scaleBy(STEP),
    '=': () => scaleBy(STEP),
    '-': () => scaleBy(-STEP),
    d: switchDisruption,
    '\u001B[A': () => scroll('nodes', -1),
    '\u001BOA': () => scroll('nodes', -1),
    '\u001B[B': () => scroll('nodes', 1),
    '\u001BOB': () => scroll('nodes', 1),
    '\u001B[5~': () => scroll('news', NEWS_STEP),
    '\u001B[6~': () => scroll('news', -NEWS_STEP),
    q: quit,
    // Ctrl-C and Ctrl-D: a terminal that gives single keys sends no signal for them.
    '\u0003': quit,
    '\u0004': quit,
  };
  const onData = (chunk: Buffer): void => {
    for (const [key] of chunk.toString('utf8').matchAll(KEY)) if (Object.hasOwn(byKey, key)) byKey[key]?.();
  };
  input.setRawMode(true);
  input.on('data', onData);
  input.resume();
  return () => {
    input.off('data', onData);
    input.setRawMode(false);
    input.pause();
  };
}
