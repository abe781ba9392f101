import type { Ports } from '../ports/ports.ts';
import { disrupt } from './disrupt.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';

/** Between two looks, in milliseconds: what the relay sees is published within a second. */
const PAUSE_MS = 2_000;
/** A look at a large cluster takes long: of the time that it looks on, at most a quarter is looking. */
const PAUSE_PER_LOOK = 3;

/** How long it is looked on for, and who hears of it. */
export interface LookingOn {
  /** Since the epoch: no look begins later. */
  readonly untilMs: number;
  /** Hears each outcome that is not as the one before. */
  readonly tell: (outcome: DisruptOutcome) => void;
}

/**
 * Looks for what may go, and again as long as something is under way: a replacement that becomes ready, a node that is
 * gone, a look that came between two others are followed within seconds, and not when the timer comes next. Throws what
 * a look throws.
 */
export async function lookOn(ports: Ports, { untilMs, tell }: LookingOn): Promise<void> {
  let told = '';
  for (;;) {
    const startedMs = ports.now();
    // Each look sees what the one before has done.
    const outcome = await disrupt(ports);
    const text = JSON.stringify(outcome);
    if (text !== told) tell(outcome);
    told = text;
    const endedMs = ports.now();
    const pauseMs = Math.max(PAUSE_MS, PAUSE_PER_LOOK * (endedMs - startedMs));
    if (!isUnderWay(outcome) || endedMs + pauseMs > untilMs) return;
    await ports.sleep(pauseMs);
  }
}

/** Is there something that the next look may find further on? */
function isUnderWay({ kind }: DisruptOutcome): boolean {
  return UNDER_WAY[kind];
}

const UNDER_WAY: Readonly<Record<DisruptOutcome['kind'], boolean>> = {
  executing: true,
  waiting: true,
  begun: true,
  finished: true,
  lost: true,
  'no-snapshot': false,
  off: false,
  idle: false,
  refused: false,
  denied: false,
};
