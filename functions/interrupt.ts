import { app } from '@azure/functions';
import { deliverSignals } from './deliver-signals.ts';

/** Notices from the relay's watch of node conditions, and Azure's own events, which Event Grid delivers to the same queue. */
app.serviceBusQueue('interrupt', {
  connection: 'ServiceBus',
  queueName: 'signals',
  cardinality: 'one',
  handler: (message, context) => deliverSignals(context, message),
});
