import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listAt, objectAt, textAt, valueAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';

/** One request to Azure and what it answered, as it was recorded (test/fixtures/azure-recordings). */
export interface Recorded {
  /** Flow, part and place in it, from 1: `vm-create 1.3`. */
  readonly label: string;
  /** The repository that it comes from. */
  readonly repository: string;
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyArray<string>;
  readonly requestHeaders: JsonObject;
  readonly requestBody: JsonObject | null;
  readonly status: number;
  readonly headers: JsonObject;
  readonly body: JsonObject | null;
}

const folder = join(import.meta.dirname, '../../../fixtures/azure-recordings');

/**
 * All flows by name, each with its parts, each with its exchanges in order. What was reported and not recorded is no
 * flow.
 */
export function readRecordings(): ReadonlyMap<string, ReadonlyArray<ReadonlyArray<Recorded>>> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  const flows = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as JsonObject);
  return new Map(
    flows
      .filter((flow) => textAt(flow, 'kind') === 'recorded')
      .map((flow) => {
        const name = textAt(flow, 'flow') ?? '';
        return [name, listAt(flow, 'parts').map((part, index) => readPart(part, `${name} ${index + 1}`))] as const;
      }),
  );
}

/** What people pasted into issues: answers of which the request is not known. */
export function readReported(): JsonObject {
  return JSON.parse(readFileSync(join(folder, 'error-vm-and-nic-reported.json'), 'utf8')) as JsonObject;
}

function readPart(part: unknown, label: string): ReadonlyArray<Recorded> {
  return listAt(part, 'exchanges').map((exchange, index) => ({
    label: `${label}.${index + 1}`,
    repository: textAt(part, 'source.repository') ?? '',
    method: textAt(exchange, 'method') ?? '',
    path: textAt(exchange, 'path') ?? '',
    query: listAt(exchange, 'query').map(String),
    requestHeaders: objectAt(exchange, 'requestHeaders'),
    requestBody: orNull(valueAt(exchange, 'requestBody')),
    status: Number(valueAt(exchange, 'status')),
    headers: objectAt(exchange, 'headers'),
    body: orNull(valueAt(exchange, 'body')),
  }));
}

function orNull(value: unknown): JsonObject | null {
  return value === undefined ? null : (value as JsonObject | null);
}
