/**
 * The task's result, or null as soon as the signal is aborted; the task then goes on unheeded. Leaves no listener
 * behind.
 */
export async function untilAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return null;
  const { promise, resolve } = Promise.withResolvers<null>();
  const stop = (): void => resolve(null);
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([task, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
