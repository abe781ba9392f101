import { app, type Timer } from '@azure/functions';
import { lookOn } from '../shared/app/disrupt/look-on.ts';
import type { DisruptOutcome } from '../shared/app/disrupt/disrupt-outcome.ts';
import { logTo } from './deliver/deliver.ts';
import { theWorker, withinTime } from './execution.ts';

/**
 * How long one execution looks on while something is under way, in milliseconds: nearly until the timer comes again.
 * The host has a status of schedules that come once a minute or less often, and none of others, of which the sandbox's
 * is every ten seconds.
 */
const LOOK_ON_MS = 50_000;
const LOOK_ON_BETWEEN_QUICK_MS = 8_000;

/**
 * A failure is the next look's to repair: what has been begun is written on the objects. It is thrown, so that the
 * portal shows it.
 */
app.timer('disrupt', {
  schedule: '%DISRUPT_SCHEDULE%',
  handler: (timer, context) =>
    withinTime(theWorker(), async (worker) => {
      const ports = await worker.app.ports(logTo(context));
      const tell = (outcome: DisruptOutcome): void => {
        if (outcome.kind === 'off' || outcome.kind === 'idle') return;
        ports.log('disruption-looked', { outcome: outcome.kind, why: whyOf(outcome) });
      };
      const untilMs = worker.now() + (isQuick(timer) ? LOOK_ON_BETWEEN_QUICK_MS : LOOK_ON_MS);
      await lookOn(ports, { untilMs, tell });
    }),
});

/** The library's type knows no timer without a status. */
function isQuick({ scheduleStatus }: { readonly scheduleStatus?: Timer['scheduleStatus'] | null }): boolean {
  return scheduleStatus === undefined || scheduleStatus === null;
}

/** What a look waits for, or what stood in its way; null where it did something. */
function whyOf(outcome: DisruptOutcome): string | null {
  if (outcome.kind === 'waiting') return outcome.for;
  return 'why' in outcome ? outcome.why : null;
}
