import { deliverObjectsTo } from '../../../functions/deliver/deliver-objects.ts';
import { deliverPodsTo } from '../../../functions/deliver/deliver-pods.ts';
import type { Worker } from '../../../functions/execution.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { sweep } from '../../../shared/app/sweep/sweep.ts';
import { toQueueMessages } from '../../../shared/contract/messages/queue-messages.ts';
import { claimsQueue } from '../../../shared/contract/messages/queues.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import type { smallCluster } from '../../kit/app/small-cluster.ts';
import { never } from '../../kit/app/workers.ts';

/** What looks without being told to: the timers. */
export const timers = ['sweep', 'disrupt'] as const;
export type Timer = (typeof timers)[number];

/** A row, as it is played. */
export interface Case {
  /** What happens then, as the row has it. */
  readonly ending: string;
  /** What waits so in the code: the file, and what it says that it waits for. */
  readonly waits?: ReadonlyArray<string>;
  /** Makes a cluster in the state that the row is about. */
  readonly begin: () => Played | Promise<Played>;
}

/** Cases by the first two cells of their rows. */
export type Cases = Readonly<Record<string, Case>>;

/** A cluster in a state that nobody is told of. */
export interface Played {
  readonly cluster: Pick<ReturnType<typeof smallCluster>, 'ports' | 'clock' | 'sent'>;
  /** Has what the row says happened? */
  readonly isDone: () => boolean;
}

const MINUTE_MS = 60_000;

/** Each timer comes so long after a minute: what happened at the minute is too young for it, and waits for the next. */
const AFTER_MINUTE_MS = 10_000;

/**
 * Lets minutes pass in which every message is lost, but for those that a timer of `running` sends, which are delivered
 * at once. As the queue does, drops what has the name of a message of the last ten minutes, whatever became of that.
 * Answers after how many minutes it is done; null where it is not within `minutes`.
 */
export async function passWithoutMessages(
  { cluster, isDone }: Played,
  running: ReadonlyArray<Timer>,
  minutes: number,
): Promise<number | null> {
  const deliver = deliveryTo(cluster);
  const { clock } = cluster;
  const startMs = clock.now();
  for (let minute = 0; minute < minutes; minute++) {
    clock.advance(startMs + minute * MINUTE_MS + AFTER_MINUTE_MS - clock.now());
    for (const timer of running) {
      // As they come.
      await act(timer, { ...cluster.ports, sleep: async (ms) => clock.advance(ms) });
      await deliver();
    }
    if (isDone()) return minute + 1;
  }
  return null;
}

const looks = { sweep, disrupt };

/** What fails for now is thrown when all else is done, so that the portal shows it; the next one comes all the same. */
async function act(timer: Timer, ports: Ports): Promise<void> {
  try {
    await looks[timer](ports);
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
  }
}

/** Delivers what has been sent since the last call and is due; all that is sent meanwhile is lost. */
function deliveryTo({ ports, clock, sent }: Played['cluster']): () => Promise<void> {
  const worker: Worker = {
    app: {
      cluster: ports.cluster,
      hints: ports.hints,
      ports: () => Promise.resolve(ports),
      poison: (message, reason) => Promise.reject(new Error(`poison: ${reason} ${JSON.stringify(message)}`)),
    },
    now: () => clock.now(),
    after: never,
  };
  const context = { functionName: 'play', invocationId: 'i', info: () => undefined, error: () => undefined };
  const seen = new Map<string, number>();
  const isNew = (id: string): boolean => {
    const nowMs = clock.now();
    const known = seen.get(id);
    if (known !== undefined && nowMs - known < (claimsQueue.duplicateDetectionWindowMs ?? 0)) return false;
    seen.set(id, nowMs);
    return true;
  };
  let taken = 0;
  const takeNew = () => {
    const messages = sent.slice(taken).flatMap(({ hint, key, atMs }) =>
      toQueueMessages(hint, key)
        .filter(({ id }) => isNew(id))
        .map(({ body }) => ({ kind: hint.kind, body, atMs })),
    );
    taken = sent.length;
    return messages.filter(({ atMs }) => (atMs ?? 0) <= clock.now());
  };
  takeNew();
  return async () => {
    for (const { kind, body } of takeNew()) {
      // One after the other, so that each play is the same every time.
      await (kind === 'pods' ? deliverPodsTo(worker, context, [body]) : deliverObjectsTo(worker, context, body));
    }
    takeNew();
  };
}
