import { app } from '@azure/functions';
import { interrupt } from '../shared/app/interrupt.ts';
import { parseSignalHint } from '../shared/contract/messages.ts';
import { deliver } from './deliver.ts';

/** Notices from the relay's watch of node conditions, and from Event Grid where it is routed through the queue. */
app.serviceBusQueue('interrupt', {
  connection: 'ServiceBus',
  queueName: 'signals',
  cardinality: 'one',
  handler: (message, context) =>
    deliver(context, message, parseSignalHint, async (ports, signal) => {
      const outcome = await interrupt(ports, signal);
      ports.log('signal', {
        notice: signal.event,
        outcome: outcome.kind,
        why: outcome.kind === 'ignored' ? outcome.why : null,
      });
    }),
});
