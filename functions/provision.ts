import { app } from '@azure/functions';
import { provision } from '../shared/app/provision.ts';
import { parsePodsHint } from '../shared/contract/messages.ts';
import { deliver } from './deliver.ts';

/** All hints waiting for one cluster arrive together and ask for one look: the first readable one is enough. */
app.serviceBusQueue('provision', {
  connection: 'ServiceBus',
  queueName: 'pods',
  isSessionsEnabled: true,
  cardinality: 'many',
  handler: async (messages, context) => {
    const batch = Array.isArray(messages) ? messages : [messages];
    let looked = false;
    for (const message of batch) {
      // One after the other: a bad message must not keep the look from happening, nor make it happen twice.
      // oxlint-disable-next-line no-await-in-loop
      await deliver(context, message, parsePodsHint, async (ports) => {
        if (looked) return;
        const outcome = await provision(ports);
        looked = true;
        ports.log('looked', { messages: batch.length, outcome: outcome.kind });
      });
    }
  },
});
