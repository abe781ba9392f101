import { EventGridDeserializer } from '@azure/eventgrid';
import { annotations } from './health-annotations.ts';
import type { SignalHint } from './messages.ts';

/** What an event says about one machine. */
export type News =
  /** The machine goes, has gone, or (`unlessThere`) may have gone. */
  | { readonly kind: 'signal'; readonly signal: SignalHint }
  /** Nothing is to be done, and people should find it. */
  | { readonly kind: 'note'; readonly vmId: string; readonly text: string }
  | { readonly kind: 'ignored'; readonly why: string };

/** An event, whichever schema it came in. */
interface Envelope {
  readonly type: string;
  readonly id: string | null;
  /** When it was sent, milliseconds since the epoch; null where it does not say. */
  readonly sentMs: number | null;
  readonly data: Fields;
  /** `data.resourceInfo.properties`, where resource notifications say what has happened. */
  readonly properties: Fields;
  readonly vmId: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** As long as a SignalHint takes; Azure's are GUIDs. */
const EVENT_ID_MAX = 256;

/** The types whose meaning we know, by their names in Azure's documentation of 2026-05. */
export const eventTypes = {
  annotated: 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated',
  availability: 'Microsoft.ResourceNotifications.HealthResources.AvailabilityStatusChanged',
  scheduled: 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted',
  deleted: 'Microsoft.Resources.ResourceDeleteSuccess',
  deletedResource: 'Microsoft.ResourceNotifications.Resources.Deleted',
} as const;

const meanings: ReadonlyMap<string, (event: Envelope, vmId: string, cluster: string) => News> = new Map([
  [eventTypes.annotated, ofAnnotation],
  [eventTypes.availability, ofAvailability],
  [eventTypes.scheduled, ofScheduledEvent],
  [eventTypes.deleted, ofDeletion],
  [eventTypes.deletedResource, ofDeletion],
]);

/**
 * What an Azure event means for the cluster's machines. Its envelope, of the Event Grid schema or CloudEvents 1.0, is
 * read by Azure's own library. Rejects with a TypeError when `event` is neither, and when one of a type we know lacks
 * what that type is for: people should see that, rather than miss evictions.
 */
export async function readEvent(event: unknown, cluster: string): Promise<News> {
  const envelope = toEnvelope(await deserialize(event));
  const mean = meanings.get(envelope.type);
  if (mean === undefined) return { kind: 'ignored', why: `${envelope.type}: not a type that we act on` };
  if (envelope.vmId === null) return { kind: 'ignored', why: `${envelope.type}: not about a virtual machine` };
  return sentAt(mean(envelope, envelope.vmId, cluster), envelope.sentMs);
}

function sentAt(news: News, sentMs: number | null): News {
  if (news.kind !== 'signal' || sentMs === null) return news;
  return { kind: 'signal', signal: { ...news.signal, noticedMs: sentMs } };
}

const deserializer = new EventGridDeserializer();

/** What the library asks for and we do not: a field that Azure leaves out one day costs no eviction. */
const UNUSED = {
  eventGrid: { id: '', topic: '', subject: '', eventTime: '', data: {}, dataVersion: '', metadataVersion: '1' },
  cloudEvents: { id: '', source: '' },
} as const;

/** What both schemas say of an event, by the names of CloudEvents. */
interface Read {
  readonly type: string;
  readonly id: string;
  readonly time: Date | undefined;
  readonly subject: string | undefined;
  readonly data: unknown;
}

async function deserialize(event: unknown): Promise<Read> {
  if (!isRecord(event)) throw new TypeError('not an Event Grid event: not an object');
  const read = await ('specversion' in event ? readCloudEvent(event) : readGridEvent(event)).catch(refuse);
  return read.type === '' ? refuse('its type is empty') : read;
}

function refuse(cause: unknown): never {
  throw new TypeError(`not an Event Grid event: ${cause instanceof Error ? cause.message : String(cause)}`);
}

async function readGridEvent(event: Fields): Promise<Read> {
  const [read] = await deserializer.deserializeEventGridEvents({ ...UNUSED.eventGrid, ...readable(event) });
  if (read === undefined) throw new TypeError('nothing was read');
  return { type: read.eventType, id: read.id, time: read.eventTime, subject: read.subject, data: read.data };
}

async function readCloudEvent(event: Fields): Promise<Read> {
  const [read] = await deserializer.deserializeCloudEvents({ ...UNUSED.cloudEvents, ...readable(event) });
  if (read === undefined) throw new TypeError('nothing was read');
  return { type: read.type, id: read.id ?? '', time: read.time, subject: read.subject, data: read.data };
}

/**
 * Without what is no text where a text belongs: the type decides what an event is, and nothing else may keep it from
 * being heard.
 */
function readable(event: Fields): Fields {
  const isText = ([name, value]: readonly [string, unknown]): boolean => name === 'data' || typeof value === 'string';
  return Object.fromEntries(Object.entries(event).filter(isText));
}

function toEnvelope({ type, id, time, subject, data: given }: Read): Envelope {
  const data = isRecord(given) ? given : {};
  const info = isRecord(data['resourceInfo']) ? data['resourceInfo'] : {};
  const properties = isRecord(info['properties']) ? info['properties'] : {};
  // What an event is about stands in several places, and documentation and samples differ in which of them.
  const about = [properties['targetResourceId'], data['resourceUri'], subject, info['id']];
  if (meanings.has(type) && !about.some((one) => typeof one === 'string' && one !== '')) {
    throw new TypeError(`not an Event Grid event: ${type} without a subject`);
  }
  const vmId = about.map(vmIdIn).find((one) => one !== null) ?? null;
  return { type, sentMs: toMs(time), id: id === '' ? null : id.slice(0, EVENT_ID_MAX), data, properties, vmId };
}

/**
 * A virtual machine's own id, or one of what Resource Health and the maintenance service hang below it. A machine of a
 * scale set has another path, and an extension or another part is not the machine.
 */
const VM_ID =
  /^(\/subscriptions\/[^/]{1,64}\/resourceGroups\/[^/]{1,90}\/providers\/Microsoft\.Compute\/virtualMachines\/[^/]{1,64})(?:\/providers\/.*)?$/i;

function vmIdIn(id: unknown): string | null {
  return typeof id === 'string' ? (VM_ID.exec(id)?.[1] ?? null) : null;
}

function ofAnnotation({ id, type, properties }: Envelope, vmId: string, cluster: string): News {
  const name = requireText(properties, 'annotationName', type);
  const meaning = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  if (meaning === undefined) return { kind: 'ignored', why: `${name}: an annotation that we do not know` };
  switch (meaning.does) {
    case 'replace':
      return toSignal({ cluster, vmId, event: meaning.event, eventId: id });
    case 'look':
      return toSignal({ cluster, vmId, event: 'gone', eventId: id, unlessThere: true });
    case 'note':
      return { kind: 'note', vmId, text: [name, text(properties['summary'])].filter(Boolean).join(': ') };
    case 'ignore':
      return { kind: 'ignored', why: `${name}: ${meaning.why}` };
    default:
      return meaning satisfies never;
  }
}

/** Azure sees a machine that does not answer; that may be a pause, a reboot, or the end. */
function ofAvailability({ id, type, properties }: Envelope, vmId: string, cluster: string): News {
  const state = requireText(properties, 'availabilityState', type);
  if (state !== 'Unavailable') return { kind: 'ignored', why: `${state}: takes no machine away` };
  return toSignal({ cluster, vmId, event: 'gone', eventId: id, unlessThere: true });
}

const scheduled: ReadonlyMap<string, SignalHint['event']> = new Map([
  ['Preempt', 'preempt'],
  ['Terminate', 'terminate'],
  ['Redeploy', 'redeploy'],
  ['Reboot', 'reboot'],
  ['Freeze', 'freeze'],
]);

function ofScheduledEvent({ id, type, properties }: Envelope, vmId: string, cluster: string): News {
  const name = requireText(properties, 'EventType', type);
  const status = requireText(properties, 'EventStatus', type);
  if (status === 'Completed' || status === 'Canceled') return { kind: 'ignored', why: `${name} ${status}: it is over` };
  const event = scheduled.get(name);
  if (event === undefined) return { kind: 'ignored', why: `${name}: a scheduled event that we do not know` };
  const eventId = text(properties['EventId']).slice(0, EVENT_ID_MAX) || id;
  return toSignal({ cluster, vmId, event, eventId, notBeforeMs: toMs(properties['NotBefore']) });
}

/** Somebody's request removed it: a person's, or ours. What Azure says when it is asked decides. */
function ofDeletion({ id }: Envelope, vmId: string, cluster: string): News {
  return toSignal({ cluster, vmId, event: 'gone', eventId: id, unlessThere: true });
}

function toSignal(
  facts: Pick<SignalHint, 'cluster' | 'vmId' | 'event' | 'eventId' | 'unlessThere'> & {
    readonly notBeforeMs?: number | null;
  },
): News {
  const base = { kind: 'signal', version: 1, nodeName: null, source: 'event-grid', notBeforeMs: null } as const;
  return { kind: 'signal', signal: { ...base, ...facts } };
}

/**
 * A time as text (of scheduled events RFC 1123; an empty one means that the event has started), or as Azure's library
 * reads it. Null for neither.
 */
function toMs(when: unknown): number | null {
  const at = when instanceof Date ? when.getTime() : Date.parse(text(when));
  return Number.isNaN(at) || at < 0 ? null : at;
}

function requireText(properties: Fields, name: string, type: string): string {
  const value = properties[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`not an Event Grid event: ${type} without data.resourceInfo.properties.${name}`);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
