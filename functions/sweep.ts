import { app } from '@azure/functions';
import { sweep } from '../shared/app/sweep/sweep.ts';
import { logTo } from './deliver/deliver.ts';
import { theWorker, withinTime } from './execution.ts';

/**
 * A failure is the next sweep's to repair, so it is logged and thrown: the portal shows it, nothing is delivered again.
 */
app.timer('sweep', {
  schedule: '%SWEEP_SCHEDULE%',
  handler: (_timer, context) =>
    withinTime(theWorker(), async (worker) => {
      await sweep(await worker.app.ports(logTo(context)));
    }),
});
