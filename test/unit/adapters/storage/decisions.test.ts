import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createDecisions } from '../../../../shared/adapters/storage/decisions.ts';
import type { Blobs } from '../../../../shared/ports/blobs.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

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

test('a record of another decision, or of none, is not taken for the one asked for', async () => {
  for (const record of [{ name: 'd2', claimNames: [], plan: { claims: [] } }, { name: 'd1' }, 7, null]) {
    const decisions = createDecisions(holding(record), 'c');
    await expect(decisions.get('d1')).rejects.toBeInstanceOf(RetryableError);
  }
});
