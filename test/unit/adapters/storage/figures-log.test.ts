import { expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createFiguresLog } from '../../../../shared/adapters/storage/figures-log.ts';
import { parseFigures, type FiguresRecord, type PlanFigures } from '../../../../shared/contract/plan-figures.ts';
import type { Blobs } from '../../../../shared/ports/blobs.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const plan = (id: string): PlanFigures => ({
  id,
  atMs: 2_000,
  tookMs: 10,
  decidedUpToMs: 1_000,
  waiting: { pending: 1, unschedulable: 0, ignored: 0, zones: {} },
});

function recordIn(blobs: MemoryBlobs): FiguresRecord | null {
  const blob = blobs.readNow('c/figures');
  return blob === null ? null : parseFigures(new TextDecoder().decode(blob.bytes));
}

function countIn(blobs: MemoryBlobs): number {
  return recordIn(blobs)?.durations.counts.reduce((a, b) => a + b, 0) ?? 0;
}

test('instances that plan beside each other, or after each other, count every plan once', async () => {
  const blobs = new MemoryBlobs();
  const instances = [createFiguresLog(blobs, 'c'), createFiguresLog(blobs, 'c')];
  await Promise.all(instances.map((log, index) => log.add(plan(`beside-${index}`), 'holds')));
  // A restarted instance knows nothing but what is in the blob.
  await createFiguresLog(blobs, 'c').add(plan('after'), 'holds');
  expect(countIn(blobs)).toBe(3);
  expect(
    recordIn(blobs)
      ?.recent.map(({ id }) => id)
      .toSorted(),
  ).toEqual(['after', 'beside-0', 'beside-1']);
});

test('a write whose answer was lost is not counted again when it is tried again', async () => {
  const blobs = new MemoryBlobs();
  let lost = 0;
  const unsure: Blobs = {
    read: (name) => blobs.read(name),
    write: async (name, bytes, condition) => {
      await blobs.write(name, bytes, condition);
      // The client's own second try finds that the condition does not hold any more.
      lost += 1;
      return blobs.write(name, bytes, condition);
    },
  };
  expect(await createFiguresLog(unsure, 'c').add(plan('a'), 'holds')).toBe('added');
  expect([lost, countIn(blobs)]).toEqual([1, 1]);
});

test('who always loses to others gives up after five tries, and says so', async () => {
  let reads = 0;
  const crowded: Blobs = {
    read: () => {
      reads += 1;
      return Promise.resolve(null);
    },
    write: () => Promise.resolve(false),
  };
  expect(await createFiguresLog(crowded, 'c').add(plan('a'), 'holds')).toBe('crowded');
  expect(reads).toBe(5);
});

test('a record that cannot be read is begun anew, and storage that cannot be reached is the caller’s to judge', async () => {
  const blobs = new MemoryBlobs();
  await blobs.write('c/figures', new Uint8Array([1, 2, 3]), 'any');
  await createFiguresLog(blobs, 'c').add(plan('a'), 'holds');
  expect(countIn(blobs)).toBe(1);
  const down: Blobs = { read: () => Promise.reject(new RetryableError('down')), write: () => Promise.resolve(true) };
  await expect(createFiguresLog(down, 'c').add(plan('a'), 'holds')).rejects.toThrow(RetryableError);
});
