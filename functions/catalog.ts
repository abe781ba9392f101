import { app } from '@azure/functions';
import { logTo } from './deliver/deliver.ts';
import { theWorker, withinTime } from './execution.ts';

/**
 * Sizes and prices, twice a day. Azure's price feed may fail: what is stored stays in use, and the next run tries
 * again.
 */
app.timer('catalog', {
  schedule: '0 17 */12 * * *',
  handler: (_timer, context) =>
    withinTime(theWorker(), async (worker) => {
      const { catalogs } = await worker.app.ports(logTo(context));
      await catalogs.refresh();
    }),
});
