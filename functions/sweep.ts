import { app } from '@azure/functions';
import { sweep } from '../shared/app/sweep.ts';
import { theApp } from '../shared/composition.ts';
import { logTo } from './deliver.ts';

/** A failure is the next sweep's to repair, so it is logged and thrown: the portal shows it, nothing is delivered again. */
app.timer('sweep', {
  schedule: '%SWEEP_SCHEDULE%',
  handler: async (_timer, context) => {
    const ports = await theApp().ports(logTo(context));
    await sweep(ports);
  },
});
