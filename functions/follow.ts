import { app } from '@azure/functions';
import { follow } from '../shared/app/follow/follow.ts';
import type { Ports } from '../shared/app/ports.ts';
import { type ObjectHint, parseObjectHint } from '../shared/contract/messages.ts';
import { RetryableError } from '../shared/ports/errors.ts';
import { deliver } from './deliver.ts';

/** Between tries of one object while something outside is down: from Azure's or Kubernetes' own word, else this. */
const RETRY_MS = 2_000;
const RETRY_MAX_MS = 60_000;

app.serviceBusQueue('follow', {
  connection: 'ServiceBus',
  queueName: 'claims',
  isSessionsEnabled: true,
  cardinality: 'one',
  handler: (message, context) =>
    deliver(context, message, parseObjectHint, async (ports, hint) => {
      try {
        const step = await follow(ports, hint.object);
        ports.log('followed', { kind: hint.object.kind, name: hint.object.name, step: step.kind, because: hint.reason });
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error;
        await retryLater(ports, hint, error);
      }
    }),
});

/**
 * Asks for another look instead of giving the message back: a message given back returns at once and is dead-lettered
 * after ten tries, which an API server that is away for a minute would use up. The wait doubles with each try.
 */
async function retryLater(ports: Ports, hint: ObjectHint, error: RetryableError): Promise<void> {
  const tried = Number(/^retry-(\d+)$/.exec(hint.reason)?.[1] ?? 0);
  const pauseMs = Math.min(error.retryAfterMs ?? RETRY_MS * 2 ** Math.min(tried, 5), RETRY_MAX_MS);
  const atMs = ports.now() + pauseMs;
  const { kind, name } = hint.object;
  ports.log('retry-later', { kind, name, tried, pauseMs, error: error.message });
  const key = `${kind}/${name}/retry/${atMs}`;
  await ports.hints.send([{ hint: { ...hint, reason: `retry-${tried + 1}` }, atMs, key }]);
}
