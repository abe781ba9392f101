import { app, trigger } from '@azure/functions';
import { deliverPods } from './deliver/deliver-pods.ts';

// As a generic trigger, for those of queues know no `dataType`. Without it the host parses each message itself, and
// where one is no JSON it gives back the whole batch, ten times, and then dead-letters it, before the function has seen
// any of it.
app.generic('provision', {
  trigger: trigger.generic({
    type: 'serviceBusTrigger',
    connection: 'ServiceBus',
    queueName: 'pods',
    isSessionsEnabled: true,
    cardinality: 'many',
    dataType: 'string',
  }),
  handler: (messages, context) => deliverPods(context, messages),
});
