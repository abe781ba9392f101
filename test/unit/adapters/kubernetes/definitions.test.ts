import { describe, expect, test } from 'vitest';
import { createDefinitions } from '../../../../shared/adapters/kubernetes/definitions.ts';
import type { Kubernetes } from '../../../../shared/ports/kubernetes.ts';

/** Definitions over an API server whose reads end when the test says so. */
function reading() {
  const reads: Array<{
    readonly of: string;
    readonly answer: (found: object | null) => void;
    readonly fail: () => void;
  }> = [];
  const clock = { nowMs: 1_000_000 };
  const get = (kind: string, { name }: { readonly name: string }): Promise<unknown> => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    reads.push({ of: `${kind} ${name}`, answer: resolve, fail: () => reject(new Error('not now')) });
    return promise;
  };
  const kubernetes = { get } as unknown as Pick<Kubernetes, 'get'>;
  return { clock, reads, definitions: createDefinitions(kubernetes, () => clock.nowMs) };
}

const v1 = { metadata: { name: 'general', resourceVersion: '1' } };
const v2 = { metadata: { name: 'general', resourceVersion: '2' } };

describe('a definition', () => {
  test('is read once for all who ask within a second, whether it has been read by then or not', async () => {
    const { clock, reads, definitions } = reading();
    const early = [definitions.nodePool('general'), definitions.nodePool('general')];
    reads[0]?.answer(v1);
    expect(await Promise.all(early)).toEqual([v1, v1]);
    clock.nowMs += 999;
    expect(await definitions.nodePool('general')).toBe(v1);
    expect(reads).toHaveLength(1);
  });

  test('is read again a second later', async () => {
    const { clock, reads, definitions } = reading();
    void definitions.nodePool('general');
    reads[0]?.answer(v1);
    clock.nowMs += 1_000;
    const later = definitions.nodePool('general');
    reads[1]?.answer(v2);
    expect(await later).toBe(v2);
  });

  test('that does not exist is not there for a second either', async () => {
    const { reads, definitions } = reading();
    const [first, second] = [definitions.nodeClass('default'), definitions.nodeClass('default')];
    reads[0]?.answer(null);
    expect([await first, await second, reads.length]).toEqual([null, null, 1]);
  });

  test('that could not be read is read anew by the next who asks, and who had asked before is told', async () => {
    const { reads, definitions } = reading();
    const asked = [definitions.nodePool('general'), definitions.nodePool('general')];
    reads[0]?.fail();
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = definitions.nodePool('general');
    reads[1]?.answer(v1);
    expect(await next).toBe(v1);
  });

  test('that has been read stays known when an earlier read of it fails late', async () => {
    const { clock, reads, definitions } = reading();
    const slow = definitions.nodePool('general');
    clock.nowMs += 1_000;
    const fast = definitions.nodePool('general');
    reads[1]?.answer(v2);
    await fast;
    reads[0]?.fail();
    await expect(slow).rejects.toThrow('not now');
    expect(await definitions.nodePool('general')).toBe(v2);
    expect(reads).toHaveLength(2);
  });

  test('is not taken for another of its name, nor for one of the other kind', () => {
    const { reads, definitions } = reading();
    void definitions.nodePool('a');
    void definitions.nodePool('b');
    void definitions.nodeClass('a');
    expect(reads.map(({ of }) => of)).toEqual(['NodePool a', 'NodePool b', 'AKSNodeClass a']);
  });

  test('makes room for others once a thousand are known: names that do not exist do not pile up', () => {
    const { reads, definitions } = reading();
    for (let index = 0; index < 1_000; index++) void definitions.nodePool(`p-${index}`);
    void definitions.nodePool('p-0');
    expect(reads).toHaveLength(1_000);
    void definitions.nodePool('p-1000');
    void definitions.nodePool('p-0');
    expect(reads).toHaveLength(1_002);
  });
});
