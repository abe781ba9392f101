import { app } from '@azure/functions';
import { deliverPods } from './deliver-pods.ts';

app.serviceBusQueue('provision', {
  connection: 'ServiceBus',
  queueName: 'pods',
  isSessionsEnabled: true,
  cardinality: 'many',
  handler: (messages, context) => deliverPods(context, messages),
});
