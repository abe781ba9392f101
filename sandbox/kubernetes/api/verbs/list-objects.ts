import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import type { ApiRequest } from '../request/api-request.ts';
import { negotiate, type Presentation } from '../request/media-type.ts';
import type { ResourceRoute } from '../request/route.ts';
import { itemText } from '../wire/object-text.ts';
import { type ApiState, apiVersionOf } from '../state.ts';
import { badRequest, expired, invalid, StatusError } from '../status-error.ts';
import type { Listing, Stored } from '../store/store.ts';
import { partialMetadata } from '../tables/partial-metadata.ts';
import { renderTable } from '../tables/render-table.ts';
import { isTrue, parseRevision, toStoredMatcher } from './list-query.ts';

/** Where a paged listing goes on. */
interface Continue {
  readonly revision: number;
  /** The last key of the page before. */
  readonly after: string;
}

interface Page {
  readonly revision: number;
  readonly items: ReadonlyArray<Stored>;
  readonly continueToken: string;
  readonly remaining: number;
}

function encodeContinue({ revision, after }: Continue): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: after })).toString('base64url');
}

function decodeContinue(text: string): Continue {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const { rv, start } = parsed as { rv: unknown; start: unknown };
    if (typeof rv === 'number' && typeof start === 'string') return { revision: rv, after: start };
  } catch {
    // Told below: a token that is no JSON is as wrong as one without its fields.
  }
  throw badRequest('invalid continue token: continue key is not valid: it must be taken unchanged from a page');
}

const continueExpired =
  'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.';

function checkMatch(query: URLSearchParams, isContinued: boolean): void {
  const match = query.get('resourceVersionMatch') ?? '';
  const version = query.get('resourceVersion') ?? '';
  const refuse = (field: string, detail: string): never => {
    const message = `Forbidden: ${detail}`;
    throw invalid({ name: 'ListOptions', group: 'meta.k8s.io' }, '', [
      { reason: 'FieldValueForbidden', field, message },
    ]);
  };
  if (match === '') return;
  if (isContinued) refuse('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
  if (version === '')
    refuse('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    throw invalid({ name: 'ListOptions', group: 'meta.k8s.io' }, '', [
      {
        reason: 'FieldValueNotSupported',
        field: 'resourceVersionMatch',
        message: `Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan", ""`,
      },
    ]);
  }
  if (match === 'Exact' && version === '0') {
    refuse('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

function listingFor(state: ApiState, route: ResourceRoute, query: URLSearchParams, from: Continue | null): Listing {
  const { storage } = route.resource;
  if (from !== null) {
    const listing = state.store.listAt(storage, from.revision);
    if (listing === null) throw expired(continueExpired);
    return listing;
  }
  const revision = parseRevision(query);
  if (revision === null || revision === 0) return state.store.list(storage);
  if (revision > state.store.revision()) {
    const why = `Timeout: Too large resource version: ${revision}, current: ${state.store.revision()}`;
    throw new StatusError(504, 'Timeout', why, {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
      headers: { 'Retry-After': '1' },
    });
  }
  const limited = Number(query.get('limit') ?? '0') > 0;
  const isExact = query.get('resourceVersionMatch') === 'Exact' || (limited && !query.has('resourceVersionMatch'));
  if (!isExact) return state.store.list(storage);
  const listing = state.store.listAt(storage, revision);
  if (listing === null) throw expired(`The resourceVersion for the provided list is too old.`);
  return listing;
}

function pageOf(listing: Listing, limit: number, after: string): Page {
  let start = 0;
  if (after !== '') {
    start = listing.items.findIndex(({ key }) => key > after);
    if (start < 0) start = listing.items.length;
  }
  const end = limit > 0 ? Math.min(start + limit, listing.items.length) : listing.items.length;
  const remaining = listing.items.length - end;
  const last = listing.items[end - 1];
  const token = remaining > 0 && last !== undefined ? { revision: listing.revision, after: last.key } : null;
  return {
    revision: listing.revision,
    items: listing.items.slice(start, end),
    continueToken: token === null ? '' : encodeContinue(token),
    remaining,
  };
}

function listMetadata(page: Page, isFiltered: boolean): Record<string, string | number> {
  return {
    resourceVersion: String(page.revision),
    ...(page.continueToken === '' ? {} : { continue: page.continueToken }),
    ...(page.continueToken === '' || isFiltered ? {} : { remainingItemCount: page.remaining }),
  };
}

function renderList(
  state: ApiState,
  route: ResourceRoute,
  page: Page,
  rest: { metadata: string; as: Presentation; include: string },
): string {
  const { resource } = route;
  const { as, version } = rest.as;
  if (as === 'Table') {
    const objects = page.items.map(({ object }) => object);
    const table = renderTable(state, resource, objects, { version, include: rest.include, withColumns: true });
    return JSON.stringify({ ...table, metadata: JSON.parse(rest.metadata) as unknown });
  }
  const isPartial = as !== 'object';
  const head = isPartial
    ? `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${version}"`
    : `"kind":"${resource.listKind}","apiVersion":"${apiVersionOf(resource)}"`;
  const items = page.items.map(({ object }) =>
    isPartial ? JSON.stringify(partialMetadata(object, version)) : itemText(object, resource),
  );
  return `{${head},"metadata":${rest.metadata},"items":[${items.join(',')}]}`;
}

/** Answers a list: selectors, paging over one consistent revision, and the form that the client accepts. */
export function listObjects(state: ApiState, route: ResourceRoute, request: ApiRequest): ApiReply {
  const { query } = request;
  if (isTrue(query, 'sendInitialEvents')) {
    throw invalid({ name: 'ListOptions', group: 'meta.k8s.io' }, '', [
      {
        reason: 'FieldValueForbidden',
        field: 'sendInitialEvents',
        message: 'Forbidden: sendInitialEvents is forbidden for list',
      },
    ]);
  }
  const presentation = negotiate(request.accept);
  const token = query.get('continue') ?? '';
  checkMatch(query, token !== '');
  const from = token === '' ? null : decodeContinue(token);
  const matches = toStoredMatcher(state, route, query);
  const listing = listingFor(state, route, query, from);
  const selected = matches === null ? listing : { revision: listing.revision, items: listing.items.filter(matches) };
  const page = pageOf(selected, Math.max(0, Number(query.get('limit') ?? '0') || 0), from?.after ?? '');
  const isFiltered = query.has('labelSelector') || query.has('fieldSelector');
  const metadata = JSON.stringify(listMetadata(page, isFiltered));
  const include = query.get('includeObject') ?? 'Metadata';
  return jsonReply(200, renderList(state, route, page, { metadata, as: presentation, include }));
}
