import type { Clock } from '../../base/clock.ts';
import { toTime } from '../timestamp.ts';
import type { Connection } from './connection.ts';
import type { KubernetesObject } from './objects.ts';
import { openWriteQueue } from './write-queue.ts';

/** Events are for people: they may lag, never delay anything else. */
const EVENT_WRITES = 2;
/** Beyond this many unwritten events new ones are dropped, as real recorders do. */
const MAX_WAITING = 2_000;

/** What happened to which object. */
export interface EventFacts {
  readonly object: KubernetesObject;
  readonly kind: string;
  readonly apiVersion: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Writes Events. */
export interface EventRecorder {
  record(facts: EventFacts): void;
  close(): void;
}

/**
 * Opens a recorder that reports as `component`, for example `default-scheduler`. Events that are refused are dropped.
 */
export function openEventRecorder(connection: Connection, clock: Clock, component: string): EventRecorder {
  const writes = openWriteQueue({ concurrency: EVENT_WRITES, onDropped: () => undefined });
  let sequence = 0;
  let waiting = 0;
  return {
    record: ({ object, kind, apiVersion, type, reason, message }) => {
      if (waiting >= MAX_WAITING) return;
      waiting++;
      const namespace = object.metadata.namespace ?? 'default';
      const { name, uid, resourceVersion } = object.metadata;
      const at = toTime(clock.now());
      const unique = `${name}.${(clock.now() * 4096 + (sequence++ % 4096)).toString(16)}`;
      const event = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: unique, namespace },
        involvedObject: {
          kind,
          apiVersion,
          name,
          uid,
          resourceVersion,
          ...(object.metadata.namespace === undefined ? {} : { namespace }),
        },
        type,
        reason,
        message: message.slice(0, 1_024),
        source: { component },
        reportingComponent: component,
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
      };
      writes.put(`${namespace}/${unique}`, async () => {
        waiting--;
        await connection.create(`/api/v1/namespaces/${namespace}/events`, event);
      });
    },
    close: () => {
      writes.close();
    },
  };
}
