import { app } from '@azure/functions';
import { disrupt, type DisruptOutcome } from '../shared/app/disrupt/disrupt.ts';
import { logTo } from './deliver.ts';
import { theWorker, withinTime } from './execution.ts';

/** A failure is the next look's to repair: what has been begun is written on the objects. It is thrown, so that the portal shows it. */
app.timer('disrupt', {
  schedule: '%DISRUPT_SCHEDULE%',
  handler: (_timer, context) =>
    withinTime(theWorker(), async (worker) => {
      const ports = await worker.app.ports(logTo(context));
      const outcome = await disrupt(ports);
      if (outcome.kind === 'off' || outcome.kind === 'idle') return;
      ports.log('disruption-looked', { outcome: outcome.kind, why: whyOf(outcome) });
    }),
});

/** What a look waits for, or what stood in its way; null where it did something. */
function whyOf(outcome: DisruptOutcome): string | null {
  if (outcome.kind === 'waiting') return outcome.for;
  return 'why' in outcome ? outcome.why : null;
}
