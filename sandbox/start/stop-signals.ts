/** Why a run is to end. */
export interface Stop {
  /** Resolves when the run is to end, with the exit code that a shell expects of that reason. */
  readonly asked: Promise<number>;
  /** True once it was asked. */
  isAsked(): boolean;
  /** Asks for the end; the second time, when the first was a moment ago, ends the process at once. */
  ask(exitCode: number): void;
}

/** npm passes a Ctrl-C on that the terminal has sent already: two within this time are one. */
const SAME_MS = 300;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Listens for the signals that end a program. `beforeExit` runs when a second one ends it at once. */
export function listenForStop(beforeExit: () => void): Stop {
  const { promise, resolve } = Promise.withResolvers<number>();
  let askedAt: number | null = null;
  const ask = (exitCode: number): void => {
    const now = Date.now();
    if (askedAt === null) {
      askedAt = now;
      resolve(exitCode);
    } else if (now - askedAt > SAME_MS) {
      beforeExit();
      process.exit(exitCode);
    }
  };
  for (const [signal, exitCode] of Object.entries(SIGNALS)) process.on(signal, () => ask(exitCode));
  return { asked: promise, isAsked: () => askedAt !== null, ask };
}
