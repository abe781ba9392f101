import { app } from '@azure/functions';
import { theApp } from '../shared/composition.ts';
import { logTo } from './deliver.ts';

/** Sizes and prices, twice a day. Azure's price feed may fail: what is stored stays in use, and the next run tries again. */
app.timer('catalog', {
  schedule: '0 17 */12 * * *',
  handler: async (_timer, context) => {
    const ports = await theApp().ports(logTo(context));
    await ports.catalogs.refresh();
  },
});
