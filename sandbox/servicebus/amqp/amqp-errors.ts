/**
 * An AMQP error as it goes into a detach or a rejected outcome; the client library maps the condition to its own code.
 */
export interface WireError {
  readonly condition: string;
  readonly description: string;
}

/** No such queue. Client: MessagingEntityNotFound. */
export function entityNotFound(address: string): WireError {
  const description = `The messaging entity '${address}' could not be found. Declare the queue where the broker is started.`;
  return { condition: 'amqp:not-found', description };
}

/** The request makes no sense for this queue. Client: InvalidOperationError. */
export function notAllowed(description: string): WireError {
  return { condition: 'amqp:not-allowed', description };
}

/** Client: MessageSizeExceeded. */
export function messageTooLarge(bytes: number, limit: number): WireError {
  const description = `The message has ${bytes} bytes; this broker takes up to ${limit}, like the Standard tier.`;
  return { condition: 'amqp:link:message-size-exceeded', description };
}

/** Client: MessageLockLost. */
export const messageLockLost: WireError = {
  condition: 'com.microsoft:message-lock-lost',
  description: 'The lock on the message is gone: it ran out, or the message was settled already.',
};

/** Client: SessionLockLost. */
export const sessionLockLost: WireError = {
  condition: 'com.microsoft:session-lock-lost',
  description: 'The lock on the session is gone: it ran out, or this receiver never had it. Accept the session again.',
};

/** Client: SessionCannotBeLocked. */
export function sessionBusy(sessionId: string): WireError {
  const description = `The session '${sessionId}' is locked by another receiver.`;
  return { condition: 'com.microsoft:session-cannot-be-locked', description };
}

/** Client: ServiceTimeout. */
export const noSessionInTime: WireError = {
  condition: 'com.microsoft:timeout',
  description: 'No session with messages became free in the time the receiver was willing to wait.',
};

/** Client: MessageNotFound. */
export const messageNotFound: WireError = {
  condition: 'com.microsoft:message-not-found',
  description: 'No message in the state this operation needs has that sequence number.',
};

/** What came cannot be read. Client: GeneralError. */
export function malformed(cause: unknown): WireError {
  const description = cause instanceof Error ? cause.message : String(cause);
  return { condition: 'amqp:decode-error', description };
}
