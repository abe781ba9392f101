/**
 * One Service Bus queue, as Bicep, the sandbox's broker and the senders must agree on it. Durations in milliseconds.
 */
export interface QueueSettings {
  readonly name: string;
  /** With sessions, messages of one session arrive in order and to one receiver at a time. */
  readonly requiresSession: boolean;
  readonly lockDurationMs: number;
  /** Deliveries before a message goes to the dead-letter queue. */
  readonly maxDeliveryCount: number;
  /** Null: no duplicate detection. Otherwise a second message with the same id within the window is dropped. */
  readonly duplicateDetectionWindowMs: number | null;
}

const MINUTE = 60_000;

/** Hints that a cluster's pods, pools or capacity changed. Session: the cluster. Read in batches by `provision`. */
export const podsQueue: QueueSettings = {
  name: 'pods',
  requiresSession: true,
  // A batch is never renewed by the host, so the lock must outlast the batching window plus one plan.
  lockDurationMs: 5 * MINUTE,
  maxDeliveryCount: 10,
  duplicateDetectionWindowMs: 10 * MINUTE,
};

/**
 * Hints that NodeClaims, NodePools or AKSNodeClasses may be able to move on. Read by `follow`. Without sessions: one
 * for each object is let in after the other, a few tens a second, and the busy ones keep their place (decision 6).
 */
export const claimsQueue: QueueSettings = {
  name: 'claims',
  requiresSession: false,
  lockDurationMs: 5 * MINUTE,
  maxDeliveryCount: 10,
  duplicateDetectionWindowMs: 10 * MINUTE,
};

/**
 * Hints that NodeClaims have been created and want machines. Read by `launch`. A launch takes seconds and Azure lets in
 * a few a second, so thousands wait here, and nothing that is under way waits behind them.
 */
export const launchesQueue: QueueSettings = {
  name: 'launches',
  requiresSession: false,
  lockDurationMs: 5 * MINUTE,
  maxDeliveryCount: 10,
  duplicateDetectionWindowMs: 10 * MINUTE,
};

/**
 * Interruption notices: from the relay's node conditions, and Azure's own, which Event Grid delivers here in either
 * schema. Read by `interrupt`. Event Grid names a message after its event, so what it delivers twice within the window
 * is one.
 */
export const signalsQueue: QueueSettings = {
  name: 'signals',
  requiresSession: false,
  lockDurationMs: 1 * MINUTE,
  maxDeliveryCount: 10,
  duplicateDetectionWindowMs: 10 * MINUTE,
};

/**
 * Messages that no retry can help, with the reason and the function that refused them as properties. Read by people.
 */
export const poisonQueue: QueueSettings = {
  name: 'poison',
  requiresSession: false,
  lockDurationMs: 1 * MINUTE,
  maxDeliveryCount: 10,
  // A message that was kept may be delivered nine times more, each after a lock of five minutes.
  duplicateDetectionWindowMs: 60 * MINUTE,
};

/** Every queue of a deployment. */
export const queues: ReadonlyArray<QueueSettings> = [podsQueue, claimsQueue, launchesQueue, signalsQueue, poisonQueue];
