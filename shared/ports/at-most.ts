/** Lets at most `limit` tasks run at once; the others wait for their turn, first come first served. */
export function atMost(limit: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: Array<() => void> = [];
  let running = 0;
  return async (task) => {
    if (running < limit) running += 1;
    else {
      // Whoever ends hands its place on, so the count stays.
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
