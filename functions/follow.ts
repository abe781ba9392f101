import { app } from '@azure/functions';
import { follow } from '../shared/app/follow/follow.ts';
import { parseObjectHint } from '../shared/contract/messages.ts';
import { deliver } from './deliver.ts';

app.serviceBusQueue('follow', {
  connection: 'ServiceBus',
  queueName: 'claims',
  isSessionsEnabled: true,
  cardinality: 'one',
  handler: (message, context) =>
    deliver(context, message, parseObjectHint, async (ports, { object, reason, podEventMs }) => {
      const step = await follow(ports, object, podEventMs ?? null);
      ports.log('followed', { kind: object.kind, name: object.name, step: step.kind, because: reason });
    }),
});
