import { expect } from 'vitest';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { objectAt, textAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { nicBody, vmBody } from './bodies.ts';
import { computeClient, group, networkClient, promptly } from './clients.ts';
import type { Exchange } from './watch-answers.ts';

/** What is changed in a body on its way: values by dotted path; undefined takes a member out. */
export type Change = Readonly<Record<string, unknown>>;

/** One thing that Azure refuses. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** Matches what is said, with its details. */
  readonly message: RegExp;
  readonly target?: string;
}

/** A rule of Azure's with a body that breaks it. */
export type Case = readonly [rule: string, change: Change, refusal: Refusal];

export function refuse(status: number, code: string, message: RegExp, target?: string): Refusal {
  return { status, code, message, ...(target === undefined ? {} : { target }) };
}

/** Azure's own client is refused, and then a bare request with the body that it sent, in the same words. */
export async function expectRefused(
  attempt: (seen: (exchange: Exchange) => void) => Promise<unknown>,
  { status, code, message, target }: Refusal,
): Promise<void> {
  const exchanges: Array<Exchange> = [];
  await expect(attempt((exchange) => exchanges.push(exchange))).rejects.toMatchObject({ code, statusCode: status });
  const [last] = exchanges.slice(-1);
  const headers = { authorization: 'Bearer x', 'content-type': 'application/json' };
  const answer = await fetch(last?.url ?? '', { method: last?.method ?? '', headers, body: last?.sent ?? '' });
  expect(answer.status).toBe(status);
  const { error } = (await answer.json()) as { readonly error: JsonObject };
  expect(error).toMatchObject({ code, ...(target === undefined ? {} : { target }) });
  expect(`${textAt(error, 'message') ?? ''}\n${JSON.stringify(error['details'])}`).toMatch(message);
}

/** Sends a node's VM with a change through Azure's client. */
export function putVm(azure: Azure, name: string, change: Change): Parameters<typeof expectRefused>[0] {
  return (seen) => {
    const { virtualMachines } = computeClient(azure.endpoint, seen, altering(change));
    return virtualMachines.createOrUpdate(group, name, vmBody(name), promptly).then(String);
  };
}

/** Sends a node's network interface with a change through Azure's client. */
export function putNic(azure: Azure, name: string, change: Change): Parameters<typeof expectRefused>[0] {
  return (seen) => {
    const { networkInterfaces } = networkClient(azure.endpoint, seen, altering(change));
    return networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly).then(String);
  };
}

/** Changes a body on the wire: what Azure's client would not let through by its types. */
export function altering(change: Change): (sent: string) => string {
  return (sent) => {
    const body = JSON.parse(sent) as JsonObject;
    return JSON.stringify(
      Object.entries(change).reduce((now, [path, value]) => put(now, path.split('.'), value), body),
    );
  };
}

function put(body: JsonObject, [key = '', ...rest]: ReadonlyArray<string>, value: unknown): JsonObject {
  return { ...body, [key]: rest.length === 0 ? value : put(objectAt(body, key), rest, value) };
}
