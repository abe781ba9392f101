import { randomUUID } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import rhea, { type Connection, type Container, type EventContext, type Session, type link } from 'rhea';
import type { QueueSettings } from '../../shared/contract/messages/queues.ts';
import type { Clock } from '../base/clock.ts';
import { type Peer, attachConsumer, attachProducer } from './amqp/amqp-attach.ts';
import { type FaultSettings, type Faults, faultsFrom, noFaults } from './amqp/faults.ts';
import { type Journal, type JournalEntry, memoryJournal, openJournal, readJournal } from './queue/journal.ts';
import { portOf } from './port-of.ts';
import { Queue, type QueueStats } from './queue/queue.ts';
import { QueueHost } from './queue/queue-host.ts';

/** What a broker is started with. */
export interface BrokerOptions {
  /** 0 picks a free one. */
  readonly port: number;
  readonly queues: ReadonlyArray<QueueSettings>;
  /** Where accepted messages are kept; null keeps them in memory only. One broker per folder. */
  readonly dataFolder: string | null;
  /**
   * Drives locks, schedules and duplicate windows. Start a virtual one at the present: clients compare with their own
   * time.
   */
  readonly clock: Clock;
  readonly faults?: FaultSettings;
  /** Told about what goes wrong with a connection, one line each. */
  readonly log?: (line: string) => void;
}

/** A running broker. */
export interface Broker {
  readonly port: number;
  /** For `new ServiceBusClient(...)`. */
  readonly connectionString: string;
  /** The declared queues, in their order. */
  readonly queueNames: ReadonlyArray<string>;
  /** Counts of one queue. Throws on a name that is not declared. */
  stats(queueName: string): QueueStats;
  /** Cuts every connection as a network failure would; clients reconnect by themselves. */
  dropConnections(): void;
  /** Stops listening, cuts connections, writes what is left. Closing twice is harmless. */
  close(): Promise<void>;
}

/** Unsettled deliveries one client session may hold; rhea's own 2,048 would stop a receiver that settles slowly. */
const UNSETTLED_PER_SESSION = 65_536;

/** A peer that says nothing for twice this long is taken for dead; the client library sends heartbeats by itself. */
const IDLE_TIMEOUT_MS = 120_000;

/**
 * Starts a Service Bus namespace for development: an AMQP 1.0 broker that the unmodified `@azure/service-bus` client
 * talks to. test/contract/servicebus keeps it honest, with that client, and runs on a real namespace too. Rejects when
 * the port is taken or the journal is damaged. Left out: topics, transactions, time to live, auto-forwarding, TLS, who
 * may do what.
 */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const container = createContainer();
  const sockets = new Set<Socket>();
  // The port comes first: a second broker on the same port and folder must fail before it touches the journal.
  const server = await listen(container, options.port, sockets);
  const port = portOf(server);
  const queues = options.queues.map((settings) => new Queue(settings, newLockToken));
  const journal = restoreOr(() => server.close(), options, queues);
  const hosts = new Map(
    queues.map((queue) => [queue.settings.name.toLowerCase(), new QueueHost(queue, options.clock, journal)]),
  );
  const faults = options.faults === undefined ? noFaults : faultsFrom(options.faults);
  serveConnections(container, hosts, faults, options.log ?? ((): void => undefined));

  let closing: Promise<void> | null = null;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        journal.close();
        resolve();
      });
      for (const host of hosts.values()) host.close();
      for (const socket of sockets) socket.destroy();
    });
  return {
    port,
    connectionString: `Endpoint=sb://localhost:${port};SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true`,
    queueNames: options.queues.map(({ name }) => name),
    stats(queueName) {
      const host = hosts.get(queueName.toLowerCase());
      if (host === undefined) throw new Error(`queue '${queueName}' is not declared`);
      return host.run((queue, now) => {
        queue.advance(now);
        return queue.stats();
      });
    },
    dropConnections() {
      for (const socket of sockets) socket.destroy(new Error('connection cut on purpose'));
    },
    close: () => (closing ??= close()),
  };
}

function newLockToken(): string {
  return randomUUID().replaceAll('-', '');
}

function restoreOr(giveUp: () => void, options: BrokerOptions, queues: ReadonlyArray<Queue>): Journal {
  try {
    return restore(options, queues);
  } catch (cause) {
    giveUp();
    throw cause;
  }
}

/** Entries of queues that are no longer declared are dropped. */
function restore({ dataFolder }: BrokerOptions, queues: ReadonlyArray<Queue>): Journal {
  if (dataFolder === null) return memoryJournal;
  const entries = Map.groupBy(readJournal(dataFolder), ({ queue }) => queue);
  for (const queue of queues) {
    queue.restore((entries.get(queue.settings.name) ?? []).flatMap(({ changes }) => changes));
  }
  const snapshot = (): ReadonlyArray<JournalEntry> =>
    queues.map((queue) => ({ queue: queue.settings.name, changes: queue.snapshot() }));
  return openJournal(dataFolder, snapshot);
}

function createContainer(): Container {
  return rhea.create_container({
    id: 'sandbox-servicebus',
    autoaccept: false,
    autosettle: false,
    treat_modified_as_released: false,
  });
}

function serveConnections(
  container: Container,
  hosts: ReadonlyMap<string, QueueHost>,
  faults: Faults,
  log: (line: string) => void,
): void {
  const peers = new Map<Connection, Peer>();
  const undo = new Map<link, () => void>();
  let connections = 0;

  const peerOf = (connection: Connection): Peer => {
    const peer = peers.get(connection) ?? { id: String(++connections), hosts, replies: new Map(), faults };
    peers.set(connection, peer);
    return peer;
  };
  const forget = (isGone: (of: link) => boolean): void => {
    for (const [of, undoLink] of undo) {
      if (!isGone(of)) continue;
      undo.delete(of);
      undoLink();
    }
  };
  const forgetLink = (closed: link | undefined): void => forget((of) => of === closed);
  const forgetSession = (closed: Session | undefined): void => forget((of) => of.session === closed);
  const forgetConnection = ({ connection }: EventContext): void => {
    forget((of) => of.connection === connection);
    peers.delete(connection);
  };

  container.on('sender_open', ({ connection, sender }: EventContext) => {
    if (sender !== undefined) undo.set(sender, attachConsumer(peerOf(connection), sender));
  });
  container.on('receiver_open', ({ connection, receiver }: EventContext) => {
    if (receiver !== undefined) undo.set(receiver, attachProducer(peerOf(connection), receiver));
  });
  container.on('sender_close', ({ sender }: EventContext) => forgetLink(sender));
  container.on('receiver_close', ({ receiver }: EventContext) => forgetLink(receiver));
  container.on('session_close', ({ session }: EventContext) => forgetSession(session));
  container.on('connection_close', forgetConnection);
  container.on('disconnected', forgetConnection);
  // Without listeners rhea turns what a peer does wrong into an uncaught exception.
  for (const event of [
    'error',
    'protocol_error',
    'connection_error',
    'session_error',
    'sender_error',
    'receiver_error',
  ]) {
    container.on(event, (cause: unknown) => {
      if (cause instanceof Error) log(`${event}: ${cause.message}`);
    });
  }
}

function listen(container: Container, port: number, sockets: Set<Socket>): Promise<Server> {
  const options = {
    host: '127.0.0.1',
    port,
    idle_time_out: IDLE_TIMEOUT_MS,
    tcp_no_delay: true,
    session_buffer_size: { outgoing: UNSETTLED_PER_SESSION },
  };
  return new Promise((resolve, reject) => {
    const server = container.listen(options as Parameters<Container['listen']>[0]);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}
