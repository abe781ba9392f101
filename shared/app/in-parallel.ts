/**
 * Runs `task` for each item, at most `limit` at a time, and returns the answers in the items' order. The first failure
 * is thrown, after the tasks already running have ended, so that nothing goes on behind the caller's back.
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
