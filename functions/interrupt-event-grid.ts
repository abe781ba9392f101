import { app } from '@azure/functions';
import { deliverSignals } from './deliver/deliver-signals.ts';

/** Azure's events where Event Grid is told to push them straight to us, without a queue in between. */
app.eventGrid('interruptEventGrid', {
  handler: (event, context) => deliverSignals(context, event),
});
