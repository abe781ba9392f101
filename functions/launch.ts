import { app } from '@azure/functions';
import { deliverObjects } from './deliver/deliver-objects.ts';

/** New NodeClaims want machines. What is done is what `follow` does; that they wait here keeps them out of its way. */
app.serviceBusQueue('launch', {
  connection: 'ServiceBus',
  queueName: 'launches',
  cardinality: 'one',
  handler: (message, context) => deliverObjects(context, message),
});
