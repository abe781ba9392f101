import type { ObjectsHint, PodsHint, SignalHint } from '../contract/messages/messages.ts';

export type Hint = PodsHint | ObjectsHint | SignalHint;

/** Sends hints to ourselves, now or later. */
export interface Hints {
  /**
   * Delivers `hint` at or after `atMs` (null: now). `key` names the occasion: a second hint about the same with the
   * same key within ten minutes is dropped, so a repeated execution does not multiply messages.
   */
  send(
    hints: ReadonlyArray<{ readonly hint: Hint; readonly atMs: number | null; readonly key: string }>,
  ): Promise<void>;
}
