/**
 * Which half of a queue a message lies in. A dead-letter queue is a queue of its own, without sessions or schedules.
 */
export type SubQueue = 'main' | 'deadLetter';

/** A value of an application property that the broker itself may add or change. */
export type PropertyValue = string | number | boolean;

/**
 * Application properties that the broker lays over the sender's: reasons of a dead letter, changes made while settling.
 */
export type PropertyOverlay = Readonly<Record<string, PropertyValue>>;

/**
 * A message as the queue receives it. The payload is opaque: AMQP sections from `properties` on, as the wire carries
 * them.
 */
export interface IncomingMessage {
  readonly messageId: string;
  readonly sessionId: string | null;
  readonly partitionKey: string | null;
  /** Null: at once. Otherwise the Unix time in milliseconds before which nobody receives the message. */
  readonly scheduledFor: number | null;
  readonly payload: Uint8Array;
}

/** A message that the queue keeps. */
export interface StoredMessage extends IncomingMessage {
  /** Unique in its queue and rising; a scheduled message gets a new one when its time comes, as in Azure. */
  readonly sequence: number;
  /** The sequence number at the first acceptance. */
  readonly enqueuedSequence: number;
  readonly enqueuedAt: number;
  readonly state: 'active' | 'scheduled' | 'deferred';
  /** Deliveries that ended without a settlement that removes the message. */
  readonly failedDeliveries: number;
  readonly overlay: PropertyOverlay;
}

/** What must survive the broker's process. Applying the changes of a queue in order gives its durable state again. */
export type Change =
  | { readonly kind: 'stored'; readonly sub: SubQueue; readonly message: StoredMessage }
  | {
      readonly kind: 'updated';
      readonly sub: SubQueue;
      readonly sequence: number;
      readonly state: StoredMessage['state'];
      readonly failedDeliveries: number;
      readonly overlay: PropertyOverlay;
    }
  | { readonly kind: 'removed'; readonly sub: SubQueue; readonly sequence: number }
  | { readonly kind: 'seen'; readonly messageId: string; readonly until: number }
  | { readonly kind: 'sessionState'; readonly sessionId: string; readonly state: Uint8Array | null }
  | { readonly kind: 'nextSequence'; readonly value: number };
