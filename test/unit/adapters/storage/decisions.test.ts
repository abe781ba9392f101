import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createDecisions } from '../../../../shared/adapters/storage/decisions.ts';
import type { Blobs } from '../../../../shared/ports/blobs.ts';
import { RetryableError, UnreadableError } from '../../../../shared/ports/errors.ts';
import type { Decision } from '../../../../shared/ports/store.ts';

/** A store that holds one record. */
function holding(record: unknown): Blobs {
  return {
    read: () => Promise.resolve({ bytes: gzipSync(JSON.stringify(record)), etag: '1' }),
    write: () => Promise.resolve(false),
  };
}

const pod = { name: 'default/a', uid: 'u1' };
const claim = { nodePool: 'general', offering: { instanceType: 'D2', zone: 'z-1', capacityType: 'spot', price: 5 } };

test('a record of the first version is read: its claims and pods are there, its reasons in free text are not', async () => {
  const refusals = [{ nodePool: 'general', rule: 'limits', detail: 'too much', fix: 'raise it' }];
  const plan = { claims: [claim], nominations: [], left: [{ pod, refusals }], cost: 5, lowerBound: 5 };
  const first = { name: 'd1', generation: 1, cause: 'x', snapshotVersion: 's', atMs: 0, claimNames: ['c1'], plan };
  expect(await createDecisions(holding(first), 'c').get('d1')).toEqual({
    ...first,
    version: 2,
    plan: { ...plan, claims: [{ ...claim, cheaper: [] }], left: [{ pod, refusals: [] }] },
  });
});

test.for([3, 7, 'two', null])(
  'a record of version %s, which a later app wrote, is not read as if it were ours',
  async (version) => {
    const record = { version, name: 'd1', claimNames: [], plan: { claims: [] } };
    const reading = createDecisions(holding(record), 'c').get('d1');
    await expect(reading).rejects.toBeInstanceOf(UnreadableError);
    await expect(reading).rejects.toThrow(`decision d1 is of version ${version}, and this app reads up to 2`);
  },
);

test('a record of another decision, or of none, is not taken for the one asked for', async () => {
  const name = 'd1';
  const records = [
    { name: 'd2', claimNames: [], plan: { claims: [] } },
    { name },
    { name, plan: { claims: [] } },
    { name, claimNames: [] },
    { name, claimNames: [], plan: {} },
    7,
    null,
  ];
  for (const record of records) {
    const failure = await createDecisions(holding(record), 'c')
      .get(name)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnreadableError);
    expect(failure).toMatchObject({ message: "decision d1: the record is another's or incomplete" });
  }
});

const decision = (name: string): Decision =>
  ({ version: 2, name, generation: 1, claimNames: ['c1'], plan: { claims: [claim] } }) as unknown as Decision;

test('a decision is read by any instance as it was put, and by another cluster not at all', async () => {
  const blobs = new MemoryBlobs();
  await createDecisions(blobs, 'c').put(decision('d1'));
  expect(await createDecisions(blobs, 'c').get('d1')).toEqual(decision('d1'));
  expect(await createDecisions(blobs, 'other').get('d1')).toBeNull();
  expect(blobs.readNow('c/d1.json.gz')).not.toBeNull();
});

test('a decision that is there is not written over: it may be executed already', async () => {
  const blobs = new MemoryBlobs();
  await createDecisions(blobs, 'c').put(decision('d1'));
  const first = blobs.readNow('c/d1.json.gz');
  await createDecisions(blobs, 'c').put({ ...decision('d1'), generation: 2 });
  expect(blobs.readNow('c/d1.json.gz')).toBe(first);
});

test('a decision that could not be written is not known', async () => {
  const failing: Blobs = {
    read: () => Promise.resolve(null),
    write: () => Promise.reject(new RetryableError('storage is away')),
  };
  const decisions = createDecisions(failing, 'c');
  await expect(decisions.put(decision('d1'))).rejects.toThrow('storage is away');
  expect(await decisions.get('d1')).toBeNull();
});

test('the latest sixty-four decisions are kept in memory, whether put or read, and no more', async () => {
  const blobs = new MemoryBlobs();
  const names = Array.from({ length: 66 }, (_, index) => `d${index}`);
  const writer = createDecisions(blobs, 'c');
  for (const name of names) await writer.put(decision(name));
  const reads: Array<string> = [];
  const counting: Blobs = {
    read: (name) => {
      reads.push(name);
      return blobs.read(name);
    },
    write: (name, bytes, condition) => blobs.write(name, bytes, condition),
  };
  const reader = createDecisions(counting, 'c');
  for (const name of names.slice(0, 64)) await reader.get(name);
  await reader.get('d0');
  expect(reads).toHaveLength(64);
  await reader.put(decision('d64'));
  await reader.get('d64');
  await reader.get('d1');
  expect(reads).toHaveLength(64);
  await reader.get('d0');
  expect(reads).toHaveLength(65);
});

test('a record that cannot be unpacked can be read by nobody', async () => {
  const torn: Blobs = {
    read: () => Promise.resolve({ bytes: gzipSync('{}').subarray(0, 8), etag: '1' }),
    write: () => Promise.resolve(false),
  };
  const failure = await createDecisions(torn, 'c')
    .get('d1')
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UnreadableError);
  expect(failure).toMatchObject({ message: 'decision d1 cannot be read', cause: expect.any(Error) });
});
