import { app } from '@azure/functions';
import { disrupt } from '../shared/app/disrupt/disrupt.ts';
import { theApp } from '../shared/composition.ts';
import { logTo } from './deliver.ts';

/** A failure is the next look's to repair: what has been begun is written on the objects. It is thrown, so that the portal shows it. */
app.timer('disrupt', {
  schedule: '%DISRUPT_SCHEDULE%',
  handler: async (_timer, context) => {
    const ports = await theApp().ports(logTo(context));
    const outcome = await disrupt(ports);
    if (outcome.kind !== 'off' && outcome.kind !== 'idle') ports.log('disruption-looked', { outcome: outcome.kind });
  },
});
