import { app, trigger } from '@azure/functions';
import { deliverSignals } from './deliver/deliver-signals.ts';

/**
 * Notices from the relay's watch of node conditions, and Azure's own events, which Event Grid delivers to the same
 * queue. Many at once are one execution: each is acted on by itself, and what replaces them is one plan of `provision`.
 * Bound as text, as `provision` is.
 */
app.generic('interrupt', {
  trigger: trigger.generic({
    type: 'serviceBusTrigger',
    connection: 'ServiceBus',
    queueName: 'signals',
    cardinality: 'many',
    dataType: 'string',
  }),
  handler: (messages, context) => deliverSignals(context, messages),
});
