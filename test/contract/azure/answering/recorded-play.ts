import { differencesOf } from './recorded-compare.ts';
import type { Recorded } from './recorded-exchanges.ts';
import type { Scene } from './recorded-scenes.ts';
import { setStage } from './recorded-stage.ts';

/**
 * Sends the requests of a part of a recording to a double of its own, in order. The answer is what differs, by label.
 * Before each request all comes to its end, but where Azure was recorded in between.
 */
export async function playRecording(
  exchanges: ReadonlyArray<Recorded>,
  { options = {}, before = {}, inBetween = [] }: Scene,
  isServed: (recorded: Recorded) => boolean,
): Promise<Readonly<Record<string, ReadonlyArray<string>>>> {
  const stage = await setStage(options);
  const found: Record<string, ReadonlyArray<string>> = {};
  for (const [index, recorded] of exchanges.entries()) {
    const isUnderWay = recorded.body?.['status'] === 'InProgress' || inBetween.includes(index + 1);
    // What comes later stands on what came before.
    await before[index + 1]?.(stage);
    if (!isUnderWay) stage.settle();
    if (isServed(recorded)) found[recorded.label] = differencesOf(recorded, await stage.replay(recorded));
  }
  await stage.azure.close();
  return found;
}
