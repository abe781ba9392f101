import type { ReadStream } from 'node:tty';

/** What each key does. */
export interface KeyActions {
  readonly evict: () => void;
  readonly scaleBy: (replicas: number) => void;
  /** Lets nodes go that are not needed, or stops that. */
  readonly switchDisruption: () => void;
  readonly quit: () => void;
}

const STEP = 10;

/** Reads single keys from a terminal until the answer is called, which gives the terminal back as it was. */
export function listenForKeys(input: ReadStream, { evict, scaleBy, switchDisruption, quit }: KeyActions): () => void {
  const actions: Readonly<Record<string, () => void>> = {
    e: evict,
    '+': () => scaleBy(STEP),
    '=': () => scaleBy(STEP),
    '-': () => scaleBy(-STEP),
    d: switchDisruption,
    q: quit,
    // Ctrl-C and Ctrl-D: a terminal that gives single keys sends no signal for them.
    '\u0003': quit,
    '\u0004': quit,
  };
  const onData = (chunk: Buffer): void => {
    for (const key of chunk.toString('utf8')) if (Object.hasOwn(actions, key)) actions[key]?.();
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
