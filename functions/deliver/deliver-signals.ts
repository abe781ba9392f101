import { createTurns, interrupt } from '../../shared/app/interruption/interrupt.ts';
import { noteNews } from '../../shared/app/interruption/note-news.ts';
import type { Log, Ports } from '../../shared/app/ports/ports.ts';
import { type News, readEvent } from '../../shared/contract/messages/event-grid.ts';
import { parseSignalHint } from '../../shared/contract/messages/messages.ts';
import { RetryableError } from '../../shared/ports/errors.ts';
import { type Invocation, failed, logTo } from './deliver.ts';
import { type Worker, theWorker, withinTime } from '../execution.ts';

/** What became of one piece of news, as it is logged. */
type Told = Parameters<Log>[1];

/**
 * Uses one message about machines: a hint of ours, or what Event Grid sends, in either of its schemas, one event or a
 * list of them. As `deliverTo`, each event by itself: what means nothing to us is logged and forgotten, what is
 * malformed is kept.
 */
export async function deliverSignals(context: Invocation, raw: unknown): Promise<void> {
  await deliverSignalsTo(theWorker(), context, raw);
}

/** `deliverSignals` for a worker that is given, such as a simulated one. */
export async function deliverSignalsTo(worker: Worker, context: Invocation, raw: unknown): Promise<void> {
  const receivedMs = worker.now();
  // A batch is a list of messages, and each message may be a list of events.
  const each = eachOf(raw).flatMap(eachOf);
  const all = await Promise.all(each.map((one) => readOrFailure(one, worker.app.cluster)));
  const together = { receivedMs, inTurn: createTurns() };
  await withinTime(worker, (inTime) =>
    Promise.all(shortestFirst(all, receivedMs).map((one) => deliverNews(inTime, context, one, together))),
  );
}

/** What notices that came together share: when, in milliseconds since the epoch, and their turns. */
interface Together {
  readonly receivedMs: number;
  readonly inTurn: ReturnType<typeof createTurns>;
}

/** What was received, and what it says. */
interface Received {
  readonly raw: unknown;
  readonly news: News | { readonly kind: 'unreadable'; readonly error: unknown };
}

async function readOrFailure(raw: unknown, cluster: string): Promise<Received> {
  try {
    return { raw, news: await readNews(raw, cluster) };
  } catch (error) {
    return { raw, news: { kind: 'unreadable', error } };
  }
}

/** A notice that names no time means the shortest there is, which is now in as many words. */
function shortestFirst(all: ReadonlyArray<Received>, nowMs: number): ReadonlyArray<Received> {
  const deadlineOf = ({ news }: Received): number =>
    news.kind === 'signal' ? (news.signal.notBeforeMs ?? nowMs) : Number.MAX_SAFE_INTEGER;
  return all.toSorted((a, b) => deadlineOf(a) - deadlineOf(b));
}

/** An empty list is malformed, and is kept as it is. */
function eachOf(raw: unknown): ReadonlyArray<unknown> {
  return Array.isArray(raw) && raw.length > 0 ? raw : [raw];
}

async function deliverNews(
  worker: Worker,
  context: Invocation,
  { raw, news }: Received,
  together: Together,
): Promise<void> {
  const signal = news.kind === 'signal' ? news.signal : null;
  try {
    if (news.kind === 'unreadable') throw news.error;
    const told = await use(news, () => worker.app.ports(logTo(context)), together);
    logTo(context)('signal', told);
  } catch (error) {
    await failed(worker, context, { raw, message: signal, error });
  }
}

/** A hint of ours has a kind; events have none. */
async function readNews(raw: unknown, cluster: string): Promise<News> {
  const isHint = typeof raw === 'object' && raw !== null && 'kind' in raw;
  return isHint ? { kind: 'signal', signal: parseSignalHint(raw) } : readEvent(raw, cluster);
}

async function use(news: News, connect: () => Promise<Ports>, { receivedMs, inTurn }: Together): Promise<Told> {
  switch (news.kind) {
    case 'ignored':
      return { notice: null, outcome: 'ignored', why: news.why };
    case 'note':
      return note(news, connect);
    case 'signal': {
      const outcome = await interrupt(await connect(), news.signal, receivedMs, inTurn);
      const why = outcome.kind === 'ignored' ? outcome.why : null;
      return { notice: news.signal.event, outcome: outcome.kind, why };
    }
    default:
      return news satisfies never;
  }
}

/** A note that cannot be written now is not worth another try: what it tells of has happened. */
async function note(news: Extract<News, { kind: 'note' }>, connect: () => Promise<Ports>): Promise<Told> {
  try {
    const claim = await noteNews(await connect(), news);
    if (claim === null) return { notice: news.text, outcome: 'ignored', why: 'no NodeClaim of ours' };
    return { notice: news.text, outcome: 'noted', claim };
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    return { notice: news.text, outcome: 'ignored', why: error.message };
  }
}
