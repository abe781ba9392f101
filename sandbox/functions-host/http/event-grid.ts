import type { Executor } from '../executor.ts';
import { isObject } from '../settings/json.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import { emptyResponse, jsonResponse, type HostRequest, type HostResponse } from './exchange.ts';

/** Where Event Grid posts: `/runtime/webhooks/EventGrid?functionName=NAME`. */
export const EVENT_GRID_PATH = '/runtime/webhooks/eventgrid';

/**
 * Answers Event Grid for one function: the handshake of either schema, or one invocation per event. 202 when all
 * succeeded, 500 when one threw, so that Event Grid delivers the whole request again, as with the real extension.
 * The function's name is read with its case, and the `code` key is not checked.
 */
export async function serveEventGrid(
  functions: ReadonlyArray<RegisteredFunction>,
  request: HostRequest,
  executor: Executor,
): Promise<HostResponse> {
  const name = request.url.searchParams.get('functionName') ?? '';
  const fn = functions.find((candidate) => candidate.name === name);
  if (fn === undefined) return jsonResponse(404, { error: `There is no Event Grid function named '${name}'.` });
  if (request.method === 'OPTIONS') return answerCloudEventsHandshake(request);
  if (request.method !== 'POST') return emptyResponse(405, [['allow', 'OPTIONS, POST']]);
  const events = readEvents(request.body.toString('utf8'));
  if (events === null) return jsonResponse(400, { error: 'The body must be an event or an array of events, as JSON.' });
  const type = request.headers['aeg-event-type']?.toLowerCase();
  if (type === 'subscriptionvalidation') return answerValidation(events);
  if (type === 'unsubscribe') return emptyResponse(202);
  const outcomes = await Promise.all(
    events.map((event) =>
      executor.execute({
        fn,
        reason: `EventGrid trigger fired at ${new Date().toISOString()}`,
        details: null,
        input: toEventInput(event),
        triggerMetadata: toTriggerMetadata(event),
        retry: null,
      }),
    ),
  );
  return emptyResponse(outcomes.every(({ succeeded }) => succeeded) ? 202 : 500);
}

/** An event as the host sends it: as text, with line breaks. */
export function toEventInput(event: Readonly<Record<string, unknown>>): { readonly string: string } {
  return { string: JSON.stringify(event, null, 2) };
}

/** The data of the event, as the extension offers it to bindings. */
export function toTriggerMetadata(event: Readonly<Record<string, unknown>>): Record<string, { json: string }> {
  return event['data'] === undefined ? {} : { data: { json: JSON.stringify(event['data']) } };
}

function answerCloudEventsHandshake(request: HostRequest): HostResponse {
  const origin = request.headers['webhook-request-origin'];
  if (origin === undefined) return jsonResponse(400, { error: 'The header WebHook-Request-Origin is missing.' });
  return emptyResponse(200, [
    ['webhook-allowed-origin', origin],
    ['webhook-allowed-rate', '*'],
  ]);
}

function answerValidation(events: ReadonlyArray<Readonly<Record<string, unknown>>>): HostResponse {
  const data = events[0]?.['data'];
  const code = isObject(data) ? data['validationCode'] : undefined;
  if (typeof code !== 'string')
    return jsonResponse(400, { error: 'data.validationCode of the first event is missing.' });
  return jsonResponse(200, { validationResponse: code });
}

function readEvents(text: string): ReadonlyArray<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const events = Array.isArray(value) ? value : [value];
    return events.every(isObject) ? events : null;
  } catch {
    return null;
  }
}
