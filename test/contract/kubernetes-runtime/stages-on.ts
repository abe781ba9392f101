import { afterAll, beforeAll } from 'vitest';
import { openStage, type Runtime, type Stage } from './runtime.ts';

/** Starts a runtime before the cases around and closes it after them; the answer plays a case on a stage of its own. */
export function stagesOn(
  start: () => Promise<Runtime>,
): (name: string, play: (stage: Stage) => Promise<void>) => Promise<void> {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await start();
  });
  afterAll(async () => {
    await runtime.close();
  });
  return async (name, play) => {
    const stage = await openStage(runtime, name);
    try {
      await play(stage);
    } finally {
      await stage.close();
    }
  };
}
