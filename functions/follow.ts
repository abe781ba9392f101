import { app } from '@azure/functions';
import { deliverObjects } from './deliver/deliver-objects.ts';

app.serviceBusQueue('follow', {
  connection: 'ServiceBus',
  queueName: 'claims',
  cardinality: 'one',
  handler: (message, context) => deliverObjects(context, message),
});
