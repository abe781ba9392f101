import type { InvocationContext } from '@azure/functions';
import { CLOCK_SKEW_MS } from '../../shared/app/facts/clock-skew.ts';
import type { Ports } from '../../shared/app/ports/ports.ts';
import type { App } from '../../shared/composition.ts';
import { digest } from '../../shared/contract/digest.ts';
import { harmlessJson, harmlessLines } from '../../shared/contract/harmless.ts';
import type { ObjectsHint, PodsHint, SignalHint } from '../../shared/contract/messages/messages.ts';
import { NAMED_PAUSE_MAX_MS, RetryableError, TerminalError } from '../../shared/ports/errors.ts';
import type { Worker } from '../execution.ts';

type Hint = PodsHint | ObjectsHint | SignalHint;

/** What a delivery reads of its invocation. */
export type Invocation = Pick<InvocationContext, 'functionName' | 'invocationId' | 'info' | 'error'>;

/** Between tries while something outside is down: what Azure or Kubernetes says, else this, doubling. */
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** 1 s doubled this often is a minute. */
const DOUBLINGS_MAX = 6;

/**
 * A hint about pods says that somebody should look, and the sweep looks every minute: after so many tries, which take
 * five minutes, it is left to that, or it would be tried for as long as what keeps it from working lasts.
 */
const PODS_TRIES_MAX = 10;

/** Those that lose a race together would meet again. */
const SPREAD = 0.25;
const SPREAD_MAX_MS = 1_000;

/**
 * Parses one message and uses it. A message that is malformed, or that fails for good, is kept in the poison queue with
 * the reason, and the rest goes on. A failure that may pass puts the hint off and lets the message go: one given back
 * to the queue returns at once and is dead-lettered after ten tries, which an API server that restarts would use up.
 */
export async function deliverTo<Message extends Hint>(
  worker: Worker,
  context: Invocation,
  raw: unknown,
  parse: (raw: unknown) => Message | null,
  use: (ports: Ports, message: Message) => Promise<void>,
): Promise<void> {
  let message: Message | null = null;
  try {
    message = parse(raw);
    if (message !== null) await use(await worker.app.ports(logTo(context)), message);
  } catch (error) {
    await failed(worker, context, { raw, message, error });
  }
}

/**
 * Puts a hint off whose use may work later, and keeps what no retry can help. `message`: null when it cannot be read.
 */
export async function failed(
  worker: Worker,
  context: Invocation,
  { raw, message, error }: { readonly raw: unknown; readonly message: Hint | null; readonly error: unknown },
): Promise<void> {
  if (error instanceof RetryableError && message !== null) await putOff(worker, context, message, error);
  else await keep(worker.app, context, raw, error);
}

/** When even this cannot be sent, the throw leaves the message with the queue. */
async function putOff({ app, now }: Worker, context: Invocation, hint: Hint, error: RetryableError): Promise<void> {
  const tried = hint.attempt ?? 0;
  if (hint.kind === 'pods' && tried >= PODS_TRIES_MAX) {
    logTo(context)('left-to-sweep', { kind: hint.kind, tried, error: render(error) });
    return;
  }
  const own = `retry/${context.functionName}/${context.invocationId}`;
  const notice = hint.kind === 'signal' ? noticeKey(context, hint) : null;
  const pauseMs = pauseAfter(error, tried, shareOf(notice ?? own));
  const atMs = now() + pauseMs;
  const met = notice === null ? { atMs, key: own } : meeting(notice, { atMs, pauseMs });
  logTo(context)('retry-later', { kind: hint.kind, tried, pauseMs, error: render(error) });
  // Who lost a race, or was told when to come again, has met no fault that a longer pause could outlast.
  const attempt = error.retryAfterMs === null ? tried + 1 : tried;
  await app.hints.send([{ hint: { ...hint, attempt }, ...met }]);
}

/** A list of events is one invocation: what is put off of two machines, or of two moments of one, is two hints. */
function noticeKey({ functionName }: Invocation, { vmId, nodeName, event, notBeforeMs }: SignalHint): string {
  return `retry/${functionName}/${digest(vmId ?? nodeName ?? '', event, String(notBeforeMs))}`;
}

/**
 * When a notice is looked at again, and by what key. A notice comes by several ways and several times, and each of them
 * that fails asks for another look: at times a quarter of the pause apart they meet, and the queue drops all but one.
 * Else there would be ever more of them, for as long as what keeps the notice from being acted on lasts.
 */
function meeting(
  notice: string,
  { atMs, pauseMs }: { readonly atMs: number; readonly pauseMs: number },
): { readonly atMs: number; readonly key: string } {
  const stepMs = Math.max(MEETING_MIN_MS, 1000 * Math.floor(pauseMs / 4000));
  const offsetMs = Math.floor(stepMs * shareOf(notice));
  const metMs = stepMs * Math.ceil((atMs + CLOCK_SKEW_MS - offsetMs) / stepMs) + offsetMs;
  return { atMs: metMs, key: `${notice}/${metMs}` };
}

/** A notice may leave half a minute. */
const MEETING_MIN_MS = 250;

/**
 * How long to wait before the next try, in milliseconds, after so many: what the failure says, as asking earlier
 * lengthens that, or a second, doubling. `share`, from 0 to 1, spreads those that failed together over a quarter more,
 * and a second at most.
 */
export function pauseAfter({ retryAfterMs }: RetryableError, tried: number, share: number): number {
  const own = Math.min(RETRY_MS * 2 ** Math.min(tried, DOUBLINGS_MAX), RETRY_MAX_MS);
  const pauseMs = retryAfterMs === null ? own : Math.min(retryAfterMs, NAMED_PAUSE_MAX_MS);
  return Math.round(pauseMs + Math.min(SPREAD * pauseMs, SPREAD_MAX_MS) * share);
}

/** Of a text, from 0 to 1: as good as drawn, and the same again for the same retry. */
function shareOf(key: string): number {
  return parseInt(digest(key).slice(-4), 36) / 36 ** 4;
}

async function keep(app: App, context: Invocation, raw: unknown, error: unknown): Promise<void> {
  // A TypeError at this place is a message we cannot read; anything else unexpected is our bug. Neither is mended by
  // delivering again, and both must not hold up the messages behind them.
  const known = error instanceof TerminalError || error instanceof TypeError;
  const kind = known ? 'poison' : 'bug';
  logTo(context)('message-kept', { kind, function: context.functionName, reason: firstLine(render(error)) });
  context.error(kind, render(error));
  await app.poison(raw, render(error), context.functionName);
}

/** The use cases' log as one structured line in the host's. */
export function logTo(context: Pick<InvocationContext, 'info'>): Ports['log'] {
  return (event, facts) => {
    context.info(harmlessJson(JSON.stringify({ event, ...facts })));
  };
}

/** The stack is in the error's own line. */
function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

function render(error: unknown): string {
  if (!(error instanceof Error)) return harmlessLines(String(error));
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  const stack = error instanceof RetryableError ? '' : `\n${error.stack ?? ''}`;
  return harmlessLines(`${error.name}: ${error.message}${cause}${stack}`);
}
