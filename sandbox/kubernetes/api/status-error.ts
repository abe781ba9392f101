import type { Json, JsonObject } from './json.ts';

/** One entry of `details.causes` of an Invalid status. */
export interface Cause {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

/** How a resource is named in messages: plural (or kind) and group. */
export interface Qualified {
  readonly name: string;
  readonly group: string;
}

/** An answer that is not a success: carries the whole `Status` body and extra headers. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: number,
    reason: string,
    message: string,
    rest: { readonly details?: JsonObject; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = rest.details ?? null;
    this.headers = rest.headers ?? {};
  }

  /** The `Status` object as the API server sends it. */
  toStatus(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === null ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

function qualifiedText({ name, group }: Qualified): string {
  return group === '' ? name : `${name}.${group}`;
}

function detailsOf(of: Qualified, name: string, more: JsonObject = {}): JsonObject {
  return { ...(name === '' ? {} : { name }), ...(of.group === '' ? {} : { group: of.group }), kind: of.name, ...more };
}

/** 404 for an object that is not there. */
export function notFound(resource: Qualified, name: string): StatusError {
  const message = `${qualifiedText(resource)} ${JSON.stringify(name)} not found`;
  return new StatusError(404, 'NotFound', message, { details: detailsOf(resource, name) });
}

/** 409 for a create of a name that is taken. */
export function alreadyExists(resource: Qualified, name: string): StatusError {
  const message = `${qualifiedText(resource)} ${JSON.stringify(name)} already exists`;
  return new StatusError(409, 'AlreadyExists', message, { details: detailsOf(resource, name) });
}

/** The text of a lost optimistic update. */
const modifiedMessage = 'the object has been modified; please apply your changes to the latest version and try again';

/** 409 for a write that was based on another version. */
export function conflict(resource: Qualified, name: string, why: string = modifiedMessage): StatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedText(resource)} ${JSON.stringify(name)}: ${why}`;
  return new StatusError(409, 'Conflict', message, { details: detailsOf(resource, name) });
}

/** 422 with its causes; `kind.name` is the kind, not the resource. */
export function invalid(kind: Qualified, name: string, causes: ReadonlyArray<Cause>): StatusError {
  const texts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))];
  const list = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  const message = `${qualifiedText(kind)} ${JSON.stringify(name)} is invalid: ${list}`;
  const details = detailsOf(kind, name, {
    causes: causes.map(({ reason, message: text, field }): Json => ({ reason, message: text, field })),
  });
  return new StatusError(422, 'Invalid', message, { details });
}

/** 400. */
export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

/** 403 by an admission rule. */
export function forbidden(resource: Qualified, name: string, why: string, causes: Array<Json> = []): StatusError {
  const message = `${qualifiedText(resource)} ${JSON.stringify(name)} is forbidden: ${why}`;
  const more: JsonObject = causes.length === 0 ? {} : { causes };
  return new StatusError(403, 'Forbidden', message, { details: detailsOf(resource, name, more) });
}

/** 410: the asked-for version is no longer known. */
export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message);
}

/** 405. */
export function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError(405, 'MethodNotAllowed', message, { details: {} });
}

/** 404 for a path that leads nowhere. */
export function pathNotFound(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });
}

/** A field that must be there and is not. */
export function required(field: string, detail = ''): Cause {
  return {
    reason: 'FieldValueRequired',
    field,
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  };
}

/** A field whose value breaks a rule; the message quotes the value as Go would print it. */
export function invalidValue(field: string, value: Json, detail: string): Cause {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${quoteValue(value)}: ${detail}` };
}

/** A field whose value is not one of the supported ones. */
export function notSupported(field: string, value: Json, supported: ReadonlyArray<string>): Cause {
  const list = supported.map((item) => JSON.stringify(item)).join(', ');
  const message = `Unsupported value: ${quoteValue(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

/** A value that may be there once only. */
export function duplicate(field: string, value: Json): Cause {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${quoteValue(value)}` };
}

/** A field that may not be set, or may not change. */
export function forbiddenField(field: string, detail: string): Cause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

/** A value as field errors print it: text quoted, numbers plain, the rest as JSON. */
export function quoteValue(value: Json): string {
  return JSON.stringify(value);
}
