/* The one file that knows rhea's insides, which have no types. */
import rhea, { type Connection, type Delivery, type Message, type Sender, type Session, type link } from 'rhea';
import type { WireError } from './amqp-errors.ts';

/** A performative or section that knows its AMQP encoding. */
interface Composite {
  described(): unknown;
}

/** rhea's messages and outcomes, with the constructors its types leave out. */
export const amqp = rhea.message as unknown as {
  encode(message: Readonly<Record<string, unknown>>): Buffer;
  decode(bytes: Buffer): Message;
  header(fields: Readonly<Record<string, unknown>>): Composite;
  accepted(): Composite;
  rejected(fields: { readonly error: WireError }): Composite;
};

/** rhea's AMQP types. Array items need an explicit type code, or the client misreads them. */
export const types = rhea.types as unknown as {
  Reader: new (buffer: Buffer) => { read(): unknown; readonly position: number };
  Writer: new () => { write(value: unknown): void; toBuffer(): Buffer };
  described(descriptor: unknown, value: unknown): unknown;
  wrap_ulong(value: number): unknown;
  wrap_long(value: number | Buffer): unknown;
  wrap_int(value: number): unknown;
  wrap_timestamp(value: number): unknown;
  wrap_uuid(value: Buffer): unknown;
  wrap_array(items: ReadonlyArray<unknown>, typeCode: number): unknown;
  wrap_symbolic_map(value: Readonly<Record<string, unknown>>): unknown;
};

/**
 * What this broker needs of rhea beyond its typed interface. All of it was read in version 3.0.5, which package.json
 * pins; test/contract/servicebus covers each function, so that an update that breaks one is seen.
 */
interface LinkInternals {
  readonly state: { local_open: boolean; open_requests: number };
  readonly local: { readonly attach: Record<string, unknown> };
  readonly credit: number;
  issue_flow: boolean;
  _get_drain: () => boolean;
  _draining: boolean;
}

interface SessionInternals {
  readonly outgoing: {
    readonly next_delivery_id: number;
    readonly next_pending_delivery: number;
    available(): number;
  };
}

/** The `snd-settle-mode` of a link whose messages are settled as they are sent. */
export const PRE_SETTLED = 1;

/** Takes back the attach answer that rhea is about to send. Only inside the event that reports the remote attach. */
export function holdAttach(held: link): void {
  const { state } = internals(held);
  state.local_open = false;
  state.open_requests = 0;
}

/** Sets a field of the attach answer, such as `properties`. Only before it is sent. */
export function setAttachField(
  attached: link,
  field: 'properties' | 'max_message_size' | 'snd_settle_mode' | 'rcv_settle_mode',
  value: unknown,
): void {
  internals(attached).local.attach[field] = value;
}

/** How many messages may be given to the link now: its credit, less what rhea holds back for the network. */
export function freeCredit(sender: Sender): number {
  return Math.min(internals(sender).credit - unsent(sender.session), sessionOf(sender.session).outgoing.available());
}

/** True when the peer asked for its unused credit to be returned. */
export function isDraining(sender: Sender): boolean {
  return internals(sender)._draining;
}

/** True when everything given to the link's session has left for the network. */
export function hasSentAll(sender: Sender): boolean {
  return unsent(sender.session) === 0;
}

/**
 * Returns all credit. rhea's own answer leaves out the drain flag when no credit is left, and the client waits for it.
 */
export function answerDrain(sender: Sender): void {
  const link = internals(sender);
  const inherited = Object.getPrototypeOf(sender) as LinkInternals;
  link._get_drain = function answeredOnce(this: LinkInternals): boolean {
    inherited._get_drain.call(this);
    this._get_drain = inherited._get_drain;
    return true;
  };
  sender.set_drained(true);
  (sender.connection as unknown as { _register(): void })._register();
}

/** Cuts a connection as a broken network would: nothing is said in AMQP. */
export function cutConnection(connection: Connection): void {
  const { socket } = connection as unknown as { readonly socket: { destroy(error: Error): void } };
  // With an error the socket reports it, and rhea learns that the connection is gone.
  socket.destroy(new Error('connection cut on purpose'));
}

/** Sends a message made of plain fields. */
export function sendFields(sender: Sender, fields: Readonly<Record<string, unknown>>): void {
  sender.send(fields as unknown as Message);
}

/**
 * Tells the receiver that its disposition took effect, and lets rhea forget the delivery: the peer never settles again.
 */
export function settleFully(delivery: Delivery, outcome: unknown): void {
  delivery.update(true, outcome);
  (delivery as { remote_settled: boolean }).remote_settled = true;
}

function unsent(session: Session): number {
  const { outgoing } = sessionOf(session);
  return outgoing.next_delivery_id - outgoing.next_pending_delivery;
}

function internals(of: link): LinkInternals {
  return of as unknown as LinkInternals;
}

function sessionOf(session: Session): SessionInternals {
  return session as unknown as SessionInternals;
}
