import { type End, endingWith, portsUntil } from '../shared/app/ports/ports-until.ts';
import { type App, theApp } from '../shared/composition.ts';
import { RetryableError } from '../shared/ports/errors.ts';

/**
 * An execution acts for so long, in milliseconds. After five minutes the host ends the worker (`functionTimeout`), and
 * with it all that runs there; a session's lock lasts as long, and is not renewed for a batch.
 */
export const ACTING_MS: number = 4 * 60_000;

/**
 * Until then, in milliseconds since its beginning, it may put off what was not done; the queue has the rest back in
 * time.
 */
export const TELLING_MS: number = ACTING_MS + 45_000;

/** What an execution needs of the worker it happens in. */
export interface Worker {
  readonly app: App;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Acts so many milliseconds from now, unless the answer is called before. */
  readonly after: (ms: number, act: () => void) => () => void;
}

/** The worker that this process is. Throws where not even Service Bus is among its settings. */
export function theWorker(): Worker {
  return { app: theApp(), now: Date.now, after };
}

function after(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/**
 * One execution, or a part of one that has less time: `use` gets the worker with an app of which all that waits throws
 * a RetryableError when time is over, `actingMs` after its beginning.
 */
export async function withinTime<Answer>(
  worker: Worker,
  use: (worker: Worker) => Promise<Answer>,
  actingMs: number = ACTING_MS,
): Promise<Answer> {
  const acting = beginEnd(worker, actingMs);
  const telling = beginEnd(worker, TELLING_MS);
  try {
    return await use({ ...worker, app: appUntil(worker.app, { acting, telling }) });
  } finally {
    acting.cancel();
    telling.cancel();
  }
}

function appUntil(app: App, ends: { readonly acting: End; readonly telling: End }): App {
  return {
    cluster: app.cluster,
    hints: endingWith(ends.telling, app.hints),
    ports: async (log) => portsUntil(await ends.acting.before(() => app.ports(log)), ends),
    poison: (message, reason, from) => ends.telling.before(() => app.poison(message, reason, from)),
  };
}

function beginEnd({ after: afterMs }: Worker, ms: number): End & { readonly cancel: () => void } {
  const { promise: over, reject } = Promise.withResolvers<never>();
  // An execution that waits for nothing at that moment is told at its next call.
  over.catch(() => undefined);
  let hasCome = false;
  const cancel = afterMs(ms, () => {
    hasCome = true;
    reject(new RetryableError(`not done within ${ms / 1_000} s, which is what an execution has`));
  });
  return { before: async (call) => (hasCome ? over : Promise.race([call(), over])), cancel };
}
