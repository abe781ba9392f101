import { BlobServiceClient, RestError } from '@azure/storage-blob';
import { ServiceBusClient, type ServiceBusReceivedMessage, type ServiceBusReceiver } from '@azure/service-bus';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRelay, relayTiming, type Relay, type RelayConfig } from '../../../relay/relay.ts';
import { kubeconfigConnection } from '../../../relay/kube/kube-config.ts';
import { silentLog } from '../../../relay/process/log.ts';
import { startBroker, type Broker } from '../../../sandbox/servicebus/broker.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { createBlobs } from '../../../shared/adapters/storage/blobs.ts';
import { createFiguresLog } from '../../../shared/adapters/storage/figures-log.ts';
import { queues } from '../../../shared/contract/messages/queues.ts';
import { parseSnapshot, type Snapshot } from '../../../shared/contract/snapshot/parse.ts';
import type { FiguresLog } from '../../../shared/ports/store.ts';
import type { StorageAccount } from './azurite.ts';

/** All that relays need around them, and eyes to see what they do. */
export interface Rig {
  readonly start: (changes?: Partial<RelayConfig>) => Promise<Relay>;
  /** The snapshot as a function would read it, with its metadata; null before the first. */
  readonly latest: () => Promise<{
    readonly snapshot: Snapshot;
    readonly metadata: Readonly<Record<string, string>>;
  } | null>;
  readonly heartbeat: () => Promise<{ readonly term: number; readonly version: string; readonly atMs: number } | null>;
  /** A further instance of the functions, which has told no plan yet. */
  readonly functions: () => FiguresLog;
  readonly overwrite: (metadata: Record<string, string>) => Promise<void>;
  /** All messages taken from the queues so far, oldest first. They are completed as they come. */
  readonly messages: ReadonlyArray<Received>;
  readonly broker: Broker;
  readonly cluster: string;
  readonly close: () => Promise<void>;
}

/** A message with the queue it came from. */
export interface Received {
  readonly queue: string;
  readonly message: ServiceBusReceivedMessage;
}

/** Times short enough for tests; the shape of the waits is the real one. */
export const fastTiming: RelayConfig['timing'] = {
  feed: { ...relayTiming.feed, firstRetryMs: 20, longestRetryMs: 300, absentRetryMs: 150 },
  lease: { durationMs: 10_000, renewDeadlineMs: 8_000, retryMs: 200 },
  publish: { leastMs: 20, lazyMs: 200, heartbeatMs: 200 },
};

/** Opens a rig around an API server and a storage account. Each has a cluster id of its own, so each starts empty. */
export async function openRig(kubeconfig: string, storage: StorageAccount): Promise<Rig> {
  const cluster = `test-cluster-${randomUUID()}`;
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, kubeconfig);
  const broker = await startBroker({ port: 0, queues, dataFolder: null, clock: systemClock });
  const receiving = await receiveAll(broker);
  const relays: Array<Relay> = [];
  const blobs = BlobServiceClient.fromConnectionString(storage.connectionString).getContainerClient('snapshots');

  async function read(name: string) {
    try {
      // One request: in two, the blob could be replaced between its size and its content.
      const answer = await blobs.getBlobClient(`${cluster}/${name}`).download();
      const chunks: Array<Buffer> = [];
      for await (const chunk of answer.readableStreamBody ?? []) chunks.push(Buffer.from(chunk));
      return { bytes: Buffer.concat(chunks), metadata: answer.metadata ?? {} };
    } catch (error) {
      if (error instanceof RestError && error.statusCode === 404) return null;
      throw error;
    }
  }

  return {
    async start(changes = {}) {
      const relay = await startRelay({
        cluster,
        buffers: false,
        identity: `relay_${relays.length}`,
        pod: null,
        namespace: 'kube-system',
        kubernetes: kubeconfigConnection(kubeconfigPath),
        serviceBus: { kind: 'connectionString', connectionString: broker.connectionString },
        storage: { kind: 'connectionString', connectionString: storage.connectionString },
        host: '127.0.0.1',
        metricsPort: 0,
        healthPort: 0,
        log: silentLog,
        timing: fastTiming,
        ...changes,
      });
      relays.push(relay);
      return relay;
    },
    async latest() {
      const blob = await read('latest');
      return blob === null ? null : { snapshot: parseSnapshot(blob.bytes), metadata: blob.metadata };
    },
    async heartbeat() {
      const blob = await read('heartbeat');
      return blob === null ? null : JSON.parse(blob.bytes.toString('utf8'));
    },
    functions: () =>
      createFiguresLog(
        createBlobs(() => Promise.resolve(blobs)),
        cluster,
      ),
    async overwrite(metadata) {
      await blobs.getBlockBlobClient(`${cluster}/latest`).setMetadata(metadata);
    },
    messages: receiving.messages,
    broker,
    cluster,
    close: () => closeAll(relays, receiving.close, broker, folder),
  };
}

async function closeAll(
  relays: ReadonlyArray<Relay>,
  stopReceiving: () => Promise<void>,
  broker: Broker,
  folder: string,
): Promise<void> {
  await Promise.all(relays.map((relay) => relay.stop()));
  await stopReceiving();
  await broker.close();
  rmSync(folder, { recursive: true, force: true });
}

async function receiveAll(broker: Broker) {
  const client = new ServiceBusClient(broker.connectionString, { retryOptions: { maxRetries: 0, timeoutInMs: 2_000 } });
  const messages: Array<Received> = [];
  const closing = new AbortController();

  async function take(queue: string, receiver: ServiceBusReceiver, maxWaitTimeInMs: number): Promise<number> {
    const batch = await receiver.receiveMessages(50, { maxWaitTimeInMs });
    for (const message of batch) {
      messages.push({ queue, message });
      await receiver.completeMessage(message);
    }
    return batch.length;
  }

  async function takeSession(queue: string): Promise<void> {
    const receiver = await client.acceptNextSession(queue);
    for (let taken = 1; taken > 0;) taken = await take(queue, receiver, 50);
    await receiver.close();
  }

  async function takeForever(once: () => Promise<unknown>): Promise<void> {
    // Rejects when no session has messages: then asks again.
    while (!closing.signal.aborted) await once().catch(() => {});
  }

  const claims = client.createReceiver('claims');
  const signals = client.createReceiver('signals');
  const loops = [
    takeForever(() => takeSession('pods')),
    takeForever(() => take('claims', claims, 200)),
    takeForever(() => take('signals', signals, 200)),
  ];
  return {
    messages,
    async close() {
      closing.abort();
      await client.close();
      await Promise.all(loops);
    },
  };
}

/**
 * Longest that a test waits for what must come. Generous: machines under load are slow, and nothing waits so long when
 * all is well.
 */
const longestMs = 20_000;

/** Waits until `look` gives something other than undefined, null or false, and gives that. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
  const endMs = performance.now() + longestMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen as NonNullable<Exclude<T, false>>;
    if (performance.now() > endMs) throw new Error(`waited ${longestMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
