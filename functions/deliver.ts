import type { InvocationContext } from '@azure/functions';
import { type App, theApp } from '../shared/composition.ts';
import type { Ports } from '../shared/app/ports.ts';
import { RetryableError, TerminalError } from '../shared/ports/errors.ts';

/** What a trigger does with one message once it is parsed. */
export type Use<Message> = (ports: Ports, message: Message) => Promise<void>;

/**
 * Parses one message and uses it. A message that is malformed, or that fails for good, is kept in the poison queue with
 * the reason, and the rest goes on; a failure that may pass is thrown, so that the queue delivers again.
 */
export async function deliver<Message>(
  context: InvocationContext,
  raw: unknown,
  parse: (raw: unknown) => Message,
  use: Use<Message>,
): Promise<void> {
  const app = theApp();
  try {
    const message = parse(raw);
    await use(await app.ports(logTo(context)), message);
  } catch (error) {
    await sortOut(app, context, raw, error);
  }
}

async function sortOut(app: App, context: InvocationContext, raw: unknown, error: unknown): Promise<void> {
  if (error instanceof RetryableError) {
    context.warn('retryable', render(error));
    throw error;
  }
  // A TypeError at this place is a message we cannot read; anything else unexpected is our bug. Neither is mended by
  // delivering again, and both must not hold up the messages behind them.
  const known = error instanceof TerminalError || error instanceof TypeError;
  context.error(known ? 'poison' : 'bug', render(error));
  await app.poison(raw, render(error), context.functionName);
}

/** The use cases' log as one structured line in the host's. */
export function logTo(context: InvocationContext): Ports['log'] {
  return (event, facts) => {
    context.info(JSON.stringify({ event, ...facts }));
  };
}

function render(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.name}: ${error.message}${cause}${error instanceof RetryableError ? '' : `\n${error.stack ?? ''}`}`;
}
