import { app } from '@azure/functions';
import { deliverSignals } from './deliver-signals.ts';

/**
 * Notices from the relay's watch of node conditions, and Azure's own events, which Event Grid delivers to the same queue. Many at once
 * are one execution: each is acted on by itself, and what replaces them is one plan of `provision`.
 */
app.serviceBusQueue('interrupt', {
  connection: 'ServiceBus',
  queueName: 'signals',
  cardinality: 'many',
  handler: (messages, context) => deliverSignals(context, messages),
});
