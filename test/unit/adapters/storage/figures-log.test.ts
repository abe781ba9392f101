import { describe, expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createFiguresLog } from '../../../../shared/adapters/storage/figures-log.ts';
import { parseDisruptionFigures } from '../../../../shared/contract/figures/disruption-figures.ts';
import {
  parseFigures,
  type FiguresRecord,
  type PlanFigures,
} from '../../../../shared/contract/figures/plan-figures.ts';
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

describe('looks that one process tells of at once', () => {
  const look = (id: string) => ({
    id,
    atMs: 0,
    counts: [{ counter: 'pods_drained_total', labels: { reason: 'Drifted' }, by: 1 } as const],
    state: null,
  });
  const totalIn = (blobs: MemoryBlobs) => {
    const blob = blobs.readNow('c/disruption-figures');
    return blob === null ? 0 : parseDisruptionFigures(new TextDecoder().decode(blob.bytes))?.totals[0]?.by;
  };
  const told = (count: number) => Array.from({ length: count }, (_, index) => look(`${count}-${index}`));

  test('are counted each, in as few writes as there are turns', async () => {
    const blobs = new MemoryBlobs();
    let writes = 0;
    const counting: Blobs = {
      read: (name) => blobs.read(name),
      write: (...given) => {
        writes += 1;
        return blobs.write(...given);
      },
    };
    const log = createFiguresLog(counting, 'c');
    await Promise.all(told(40).map((one) => log.addLook(one)));
    expect([totalIn(blobs), writes]).toEqual([40, 1]);
    await log.addLook(look('later'));
    expect([totalIn(blobs), writes]).toEqual([41, 2]);
  });

  test('are counted once when the answer to their write was lost', async () => {
    const blobs = new MemoryBlobs();
    const unsure: Blobs = {
      read: (name) => blobs.read(name),
      write: async (...given) => {
        await blobs.write(...given);
        return blobs.write(...given);
      },
    };
    const log = createFiguresLog(unsure, 'c');
    await Promise.all(told(40).map((one) => log.addLook(one)));
    expect(totalIn(blobs)).toBe(40);
  });

  test('that cannot be written keep no later one from it', async () => {
    const blobs = new MemoryBlobs();
    let isDown = true;
    const failing: Blobs = {
      read: (name) => (isDown ? Promise.reject(new RetryableError('storage is away')) : blobs.read(name)),
      write: (...given) => blobs.write(...given),
    };
    const log = createFiguresLog(failing, 'c');
    await expect(log.addLook(look('a'))).rejects.toThrow('storage is away');
    isDown = false;
    expect(await log.addLook(look('b'))).toBe('added');
    expect(totalIn(blobs)).toBe(1);
  });
});
