import { RetryableError, TerminalError } from '../../ports/errors.ts';

/**
 * Runs `task` for each item, at most `limit` at a time, and returns the answers in the items' order. The first failure
 * is thrown, after the tasks already running have ended, so that no task is still running when the caller gets the
 * error.
 */
export async function inParallel<Item, Answer>(
  items: ReadonlyArray<Item>,
  limit: number,
  task: (item: Item) => Promise<Answer>,
): Promise<ReadonlyArray<Answer>> {
  const answers: Array<Answer> = [];
  const queue = items.entries();
  const failures: Array<unknown> = [];
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failures.length > 0) return;
      try {
        answers[index] = await task(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return answers;
}

/** What became of one item: the answer, or why it could not be done. */
export type Settled<Answer> =
  | { readonly kind: 'done'; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly error: RetryableError | TerminalError };

/**
 * As `inParallel` for items that have nothing to do with each other: what the outside answers for one keeps no other
 * from its turn.
 */
export async function eachAlone<Item, Answer>(
  items: ReadonlyArray<Item>,
  limit: number,
  task: (item: Item, index: number) => Promise<Answer>,
): Promise<ReadonlyArray<Settled<Answer>>> {
  return inParallel([...items.entries()], limit, async ([index, item]) => alone(() => task(item, index)));
}

/** What a step returns, or why the outside would not have it. */
export async function alone<Answer>(step: () => Promise<Answer>): Promise<Settled<Answer>> {
  try {
    return { kind: 'done', answer: await step() };
  } catch (error) {
    if (error instanceof RetryableError || error instanceof TerminalError) return { kind: 'failed', error };
    throw error;
  }
}
