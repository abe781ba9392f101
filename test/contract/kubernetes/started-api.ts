import { afterAll, beforeAll } from 'vitest';
import type { ApiUnderTest } from './cases/api-under-test.ts';

/** Starts a server before the cases around and closes it after them; the answer is for the cases, and throws before. */
export function startedApi(start: () => Promise<ApiUnderTest>): () => ApiUnderTest {
  let started: ApiUnderTest | null = null;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => {
    await started?.close();
  });
  return () => {
    if (started === null) throw new Error('not started');
    return started;
  };
}
