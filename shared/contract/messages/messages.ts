import { Type, type Static } from 'typebox';
import { digest } from '../digest.ts';
import { parseWith } from './parse.ts';

/**
 * Messages on the queues. All are hints: they say where to look, never what is there, so one that is late, doubled, out
 * of order or lost does no harm. New fields must be optional, since old and new code meet during an update.
 */

/** How often we have put this hint off ourselves because something outside was down; absent: never. */
const attempt = Type.Optional(Type.Integer({ minimum: 0 }));

/** Milliseconds since the epoch, up to the last that is a date. */
const EpochMs = Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 });

/** A reason's length at most: enough for a handful of them. */
export const REASON_MAX = 256;

/** Something that provisioning depends on changed. Session and partition: the cluster. */
export const PodsHint = Type.Object({
  kind: Type.Literal('pods'),
  version: Type.Literal(1),
  cluster: Type.String({ minLength: 1, maxLength: 260 }),
  /** The snapshot that holds the change, if the sender publishes snapshots. Receivers read the newest all the same. */
  snapshot: Type.Union([Type.String({ maxLength: 64 }), Type.Null()]),
  /** For people who read logs: `pods-unschedulable`, `node-lost`, `pool-changed`, `window-closed`, `sweep`. */
  reason: Type.String({ maxLength: REASON_MAX }),
  attempt,
});
export type PodsHint = Static<typeof PodsHint>;

/** An object that may be able to move on. */
const FollowedObject = Type.Object({
  kind: Type.Union([Type.Literal('NodeClaim'), Type.Literal('NodePool'), Type.Literal('AKSNodeClass')]),
  name: Type.String({ minLength: 1, maxLength: 253 }),
  /**
   * Of a NodeClaim: when a pod last came to its node or left it; absent when the hint is
   * not about that. The one fact that a hint carries, for nothing in the cluster tells it afterwards. Later ones win.
   */
  podEventMs: Type.Optional(EpochMs),
});
export type FollowedObject = Static<typeof FollowedObject>;

/**
 * Objects named by one message at most. Its execution looks at all of them at once and ends with the last; more
 * messages can be shared among more instances.
 */
export const OBJECTS_MAX = 20;

/** Objects may be able to move on. `launches`: NodeClaims that want machines, which has a queue of its own. */
export const ObjectsHint = Type.Object({
  kind: Type.Union([Type.Literal('objects'), Type.Literal('launches')]),
  version: Type.Literal(1),
  cluster: Type.String({ minLength: 1, maxLength: 260 }),
  objects: Type.Array(FollowedObject, { minItems: 1, maxItems: OBJECTS_MAX }),
  /** For people who read logs: `created`, `node-ready`, `look-again`. */
  reason: Type.String({ maxLength: REASON_MAX }),
  attempt,
});
export type ObjectsHint = Omit<Static<typeof ObjectsHint>, 'objects'> & {
  /** Of any number until they are split into messages: see `toQueueMessages`. */
  readonly objects: ReadonlyArray<FollowedObject>;
};

/** A machine is about to go, or has gone. `interrupt` acts on it; unknown machines are ignored. */
export const SignalHint = Type.Object({
  kind: Type.Literal('signal'),
  version: Type.Literal(1),
  cluster: Type.String({ minLength: 1, maxLength: 260 }),
  /** Azure resource id of the VM in any casing; null when only the node's name is known. */
  vmId: Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]),
  nodeName: Type.Union([Type.String({ maxLength: 253 }), Type.Null()]),
  event: Type.Union([
    Type.Literal('preempt'),
    Type.Literal('terminate'),
    Type.Literal('redeploy'),
    Type.Literal('reboot'),
    Type.Literal('freeze'),
    Type.Literal('degraded'),
    Type.Literal('gone'),
  ]),
  /** When Azure will act; null when not told. */
  notBeforeMs: Type.Union([EpochMs, Type.Null()]),
  /** The same notice by two paths carries the same id where Azure gives one. */
  eventId: Type.Union([Type.String({ maxLength: 256 }), Type.Null()]),
  source: Type.Union([Type.Literal('node-condition'), Type.Literal('event-grid'), Type.Literal('sweep')]),
  /** When the sender, or Azure, knew of it: how long it took is measured from there, and nothing else. */
  noticedMs: Type.Optional(EpochMs),
  /** Hearsay: nothing is done where Azure, asked for it, still has the machine. */
  unlessThere: Type.Optional(Type.Literal(true)),
  attempt,
});
export type SignalHint = Static<typeof SignalHint>;

/** Throws TypeError naming the field when `message` is not a PodsHint of a version we know. So do the others. */
export function parsePodsHint(message: unknown): PodsHint {
  return parseWith(PodsHint, message, 'PodsHint');
}

export function parseObjectsHint(message: unknown): ObjectsHint {
  return parseWith(ObjectsHint, message, 'ObjectsHint');
}

export function parseSignalHint(message: unknown): SignalHint {
  return parseWith(SignalHint, message, 'SignalHint');
}

/** Service Bus refuses longer session ids; names of clusters and objects may be longer. */
const SESSION_ID_MAX = 128;

/** `name` where it is short enough for a session id, else a digest of it: the same for everybody who sends. */
export function sessionIdOf(name: string): string {
  return name.length <= SESSION_ID_MAX ? name : digest(name);
}
