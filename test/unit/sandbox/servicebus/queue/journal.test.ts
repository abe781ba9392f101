import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type JournalEntry, openJournal, readJournal } from '../../../../../sandbox/servicebus/queue/journal.ts';
import type { StoredMessage } from '../../../../../sandbox/servicebus/queue/message.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'journal-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function stored(sequence: number, payload: Uint8Array): JournalEntry {
  const message: StoredMessage = {
    messageId: `m${sequence}`,
    sessionId: null,
    partitionKey: null,
    scheduledFor: null,
    payload,
    sequence,
    enqueuedSequence: sequence,
    enqueuedAt: 1,
    state: 'active',
    failedDeliveries: 0,
    overlay: { note: 'ü' },
  };
  return { queue: 'q', changes: [{ kind: 'stored', sub: 'main', message }] };
}

function written(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const path = (): string => join(folder, 'journal.ndjson');

test('an empty folder has an empty journal', () => {
  expect(readJournal(join(folder, 'nothing here'))).toEqual([]);
});

test('what was appended is read again, bytes included', async () => {
  const journal = openJournal(folder, () => []);
  const entries = [stored(1, Buffer.from([0, 255, 10])), stored(2, new Uint8Array([1, 2, 3, 4]).subarray(1, 3))];
  for (const entry of entries) journal.append(entry);
  journal.append({ queue: 'q', changes: [{ kind: 'sessionState', sessionId: 's', state: Buffer.from('state') }] });
  await written();
  const read = readJournal(folder);
  expect(read).toHaveLength(3);
  const payloads = read.flatMap(({ changes }) =>
    changes.flatMap((change) => (change.kind === 'stored' ? [change.message.payload] : [])),
  );
  expect(payloads.map((payload) => [...payload])).toEqual([
    [0, 255, 10],
    [2, 3],
  ]);
  expect(read[2]?.changes).toEqual([{ kind: 'sessionState', sessionId: 's', state: Buffer.from('state') }]);
  journal.close();
});

test('who waits for writing is called after the write, and at once when nothing waits', async () => {
  const journal = openJournal(folder, () => []);
  let sizeWhenCalled = -1;
  journal.append(stored(1, Buffer.from('x')));
  journal.afterWrite(() => {
    sizeWhenCalled = statSync(path()).size;
  });
  expect(sizeWhenCalled).toBe(-1);
  await written();
  expect(sizeWhenCalled).toBeGreaterThan(0);
  let isCalled = false;
  journal.afterWrite(() => {
    isCalled = true;
  });
  expect(isCalled).toBe(true);
  journal.close();
});

test('closing writes what waits', () => {
  const journal = openJournal(folder, () => []);
  journal.append(stored(1, Buffer.from('x')));
  journal.close();
  expect(readJournal(folder)).toHaveLength(1);
});

test('a torn last line is left out, a damaged line before it is named', () => {
  const journal = openJournal(folder, () => []);
  journal.append(stored(1, Buffer.from('x')));
  journal.close();
  appendFileSync(path(), '{"queue":"q","chan');
  expect(readJournal(folder)).toHaveLength(1);
  writeFileSync(path(), `{"queue"\n${readFileSync(path(), 'utf8')}`);
  expect(() => readJournal(folder)).toThrow(/line 1 is damaged/);
});

test('opening starts from the snapshot, and a journal that has grown is rewritten from a new one', async () => {
  const payload = Buffer.alloc(1024 * 1024, 1);
  let snapshots = 0;
  const journal = openJournal(folder, () => {
    snapshots++;
    return [stored(snapshots, Buffer.from('kept'))];
  });
  expect(readJournal(folder)).toHaveLength(1);
  const isRewritten = (): boolean => snapshots > 1;
  for (let sequence = 100; !isRewritten() && sequence < 200; sequence++) {
    journal.append(stored(sequence, payload));
    await written();
  }
  expect(snapshots).toBe(2);
  journal.append(stored(999, Buffer.from('after')));
  await written();
  expect(readJournal(folder).map(({ changes }) => changes[0])).toMatchObject([
    { message: { sequence: 2 } },
    { message: { sequence: 999 } },
  ]);
  journal.close();
});
