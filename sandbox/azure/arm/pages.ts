import { invalidParameter } from './arm-error.ts';
import { ok, type ArmRequest, type ArmResponse } from './router.ts';

/** One page of a list, with ARM's `nextLink` to the next one. */
export function page(request: ArmRequest, rows: ReadonlyArray<object>, size: number): ArmResponse {
  const text = request.query.get('$skiptoken') ?? '0';
  const start = Number(text);
  if (!Number.isInteger(start) || start < 0)
    throw invalidParameter('$skiptoken', `The skip token '${text}' is not one that this list gave.`);
  const value = rows.slice(start, start + size);
  if (start + size >= rows.length) return ok({ value });
  const query = new URLSearchParams(request.query);
  query.set('$skiptoken', String(start + size));
  return ok({ value, nextLink: `${request.origin}${request.path}?${query.toString()}` });
}
