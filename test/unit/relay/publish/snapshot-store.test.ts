import { describe, expect, test } from 'vitest';
import type { BlobAnswer } from '../../../../relay/azure/blob-client.ts';
import { openSnapshotStore } from '../../../../relay/publish/snapshot-store.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const answer = (status: number, headers: BlobAnswer['headers'] = {}): BlobAnswer => ({
  status,
  headers,
  body: new Uint8Array(),
});
const created = (etag: string): BlobAnswer => answer(201, { etag });
const held = (term: string, etag: string): BlobAnswer => answer(200, { 'x-ms-meta-term': term, etag });
const noContainer = answer(404, { 'x-ms-error-code': 'ContainerNotFound' });

/** A store over answers in this order; an Error is one that never came. */
function open(...answers: ReadonlyArray<BlobAnswer | Error>) {
  const asked: Array<Asked> = [];
  const request = async (
    method: string,
    path: string,
    headers: Asked['headers'],
    body: Uint8Array,
  ): Promise<BlobAnswer> => {
    const next = answers[asked.length] ?? new Error(`nobody expected ${method} ${path}`);
    asked.push({ method, path, headers, body: Buffer.from(body).toString('utf8') });
    if (next instanceof Error) throw next;
    return next;
  };
  return { asked, store: openSnapshotStore({ request, close() {} }, 'group/my cluster') };
}

const of = (term: number, sequence: number) => ({ version: `${term}-${sequence}`, term, takenAtMs: 0 });
const bytes = Buffer.from('snapshot');
const latest = '/snapshots/group/my%20cluster/latest';
const conditionsOf = (asked: ReadonlyArray<Asked>) =>
  asked
    .filter(({ method }) => method === 'PUT')
    .map(({ headers }) => headers['if-match'] ?? `not ${headers['if-none-match']}`);

describe('a snapshot', () => {
  test('is written where there is none, on condition that there still is none', async () => {
    const { store, asked } = open(answer(404), created('"1"'));
    expect(await store.publish(bytes, of(3, 1))).toEqual({ kind: 'published' });
    expect(asked).toEqual([
      { method: 'HEAD', path: latest, headers: {}, body: '' },
      {
        method: 'PUT',
        path: latest,
        headers: {
          'if-none-match': '*',
          'x-ms-meta-version': '3-1',
          'x-ms-meta-term': '3',
          'x-ms-meta-takenat': '1970-01-01T00:00:00.000Z',
          'x-ms-blob-type': 'BlockBlob',
          'content-type': 'application/zstd',
        },
        body: 'snapshot',
      },
    ]);
  });

  test('is written over the one before without another look, on condition that it is still that one', async () => {
    const { store, asked } = open(held('3', '"1"'), created('"2"'), created('"3"'));
    await store.publish(bytes, of(3, 1));
    await store.publish(bytes, of(3, 2));
    expect(asked.map(({ method }) => method)).toEqual(['HEAD', 'PUT', 'PUT']);
    expect(conditionsOf(asked)).toEqual(['"1"', '"2"']);
  });

  test.for([
    ['4', { kind: 'superseded', term: 4 }],
    ['3', { kind: 'published' }],
    ['2', { kind: 'published' }],
    ['odd', { kind: 'published' }],
  ] as const)('of term 3, where one of term %s is, is %j', async ([term, outcome]) => {
    const { store, asked } = open(held(term, '"1"'), created('"2"'));
    expect(await store.publish(bytes, of(3, 1))).toEqual(outcome);
    expect(asked).toHaveLength(outcome.kind === 'superseded' ? 1 : 2);
  });

  test('of whose term the one that is there says nothing is written over it', async () => {
    const { store } = open(answer(200, { etag: '"1"' }), created('"2"'));
    expect(await store.publish(bytes, of(1, 1))).toEqual({ kind: 'published' });
  });

  test.for([409, 412])('that lost to another looks who that was (%s)', async (status) => {
    const later = open(held('3', '"1"'), answer(status), held('4', '"9"'));
    expect(await later.store.publish(bytes, of(3, 1))).toEqual({ kind: 'superseded', term: 4 });
    const earlier = open(held('3', '"1"'), answer(status), held('2', '"9"'), created('"10"'));
    expect(await earlier.store.publish(bytes, of(3, 1))).toEqual({ kind: 'published' });
    expect(conditionsOf(earlier.asked)).toEqual(['"1"', '"9"']);
  });

  test('that loses three times in a row is given up for now', async () => {
    const turns = [1, 2, 3].flatMap((turn) => [held('3', `"${turn}"`), answer(412)]);
    const { store, asked } = open(...turns);
    await expect(store.publish(bytes, of(3, 1))).rejects.toThrow(
      'the snapshot of group/my cluster was replaced by others 3 times in a row',
    );
    expect(asked).toHaveLength(6);
  });

  test('of which nobody knows whether it was written is looked for before the next is', async () => {
    const { store, asked } = open(held('3', '"1"'), new Error('reset'), held('3', '"2"'), created('"3"'));
    await expect(store.publish(bytes, of(3, 1))).rejects.toThrow('reset');
    expect(await store.publish(bytes, of(3, 2))).toEqual({ kind: 'published' });
    expect(asked.map(({ method }) => method)).toEqual(['HEAD', 'PUT', 'HEAD', 'PUT']);
    expect(conditionsOf(asked)).toEqual(['"1"', '"2"']);
  });

  test('that was written without an ETag is looked for before the next is', async () => {
    const { store, asked } = open(answer(404), answer(201), held('1', '"7"'), created('"8"'));
    await store.publish(bytes, of(1, 1));
    await store.publish(bytes, of(1, 2));
    expect(conditionsOf(asked)).toEqual(['not *', '"7"']);
  });

  test('that is refused was not written: what is there is known still', async () => {
    const refusal = answer(403, { 'x-ms-error-code': 'AuthorizationFailure' });
    const { store, asked } = open(held('3', '"1"'), refusal, created('"2"'));
    await expect(store.publish(bytes, of(3, 1))).rejects.toMatchObject({
      message: 'cannot write the snapshot: answered 403 AuthorizationFailure',
    });
    await store.publish(bytes, of(3, 2));
    expect(asked.map(({ method }) => method)).toEqual(['HEAD', 'PUT', 'PUT']);
    expect(conditionsOf(asked)).toEqual(['"1"', '"1"']);
  });

  test('is not written when nobody can say what is there', async () => {
    const { store, asked } = open(answer(503));
    await expect(store.publish(bytes, of(3, 1))).rejects.toMatchObject({
      message: 'cannot look at the snapshot: answered 503',
    });
    expect(asked).toHaveLength(1);
  });

  test('makes the container where it is missing, and only then', async () => {
    const { store, asked } = open(answer(404), noContainer, created('x'), created('"1"'));
    expect(await store.publish(bytes, of(1, 1))).toEqual({ kind: 'published' });
    expect(asked[2]).toEqual({ method: 'PUT', path: '/snapshots?restype=container', headers: {}, body: '' });
    expect(asked[3]).toEqual(asked[1]);
    const other = open(answer(404), answer(404, { 'x-ms-error-code': 'AccountNotFound' }));
    await expect(other.store.publish(bytes, of(1, 1))).rejects.toThrow('answered 404 AccountNotFound');
    const notMissing = open(answer(404), answer(403, { 'x-ms-error-code': 'ContainerNotFound' }));
    await expect(notMissing.store.publish(bytes, of(1, 1))).rejects.toThrow('answered 403');
  });
});

describe('a heartbeat', () => {
  const beat = { term: 3, version: '3-4', atMs: 5, holdsAtMs: 4 };

  test('says which snapshot still holds, beside it and on no condition', async () => {
    const { store, asked } = open(created('"1"'));
    await store.beat(beat);
    expect(asked).toEqual([
      {
        method: 'PUT',
        path: '/snapshots/group/my%20cluster/heartbeat',
        headers: { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'application/json' },
        body: JSON.stringify(beat),
      },
    ]);
  });

  test.for([200, 403, 500])('that is answered with %s was not written', async (status) => {
    await expect(open(answer(status)).store.beat(beat)).rejects.toThrow(
      `cannot write the heartbeat: answered ${status}`,
    );
  });
});
