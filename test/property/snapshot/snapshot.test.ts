import fc from 'fast-check';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createSnapshotBuilder, keyOf, type SnapshotBuilder } from '../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot } from '../../../shared/contract/snapshot/parse.ts';
import type { Cluster } from '../../../shared/core/model/cluster.ts';
import { rawObject, rawPod, type RawObject } from './raw-objects.ts';

const header = { version: '1.1', takenAtMs: 1_790_000_000_000, source: 'relay' } as const;

function builderOf(objects: Iterable<RawObject>): SnapshotBuilder {
  const builder = createSnapshotBuilder('cluster');
  for (const { resource, raw } of objects) builder.upsert(resource, raw);
  return builder;
}

/** The last state of each object, which is what any order of events must end in. */
function lastOfEach(objects: ReadonlyArray<RawObject>): ReadonlyArray<RawObject> {
  return [...new Map(objects.map((one) => [`${one.resource} ${keyOf(one.raw)}`, one])).values()];
}

describe('the snapshot format', () => {
  test('the same content gives the same bytes, whatever was learnt, forgotten and replaced on the way [M01]', () => {
    fc.assert(
      fc.property(fc.array(rawObject, { maxLength: 60 }), fc.array(rawObject, { maxLength: 30 }), (objects, noise) => {
        const last = lastOfEach(objects);
        const crooked = builderOf([...noise, ...last.toReversed(), ...objects]);
        // Encoding on the way must not change what comes after.
        crooked.encode(header);
        const kept = new Set(last.map((one) => `${one.resource} ${keyOf(one.raw)}`));
        for (const { resource, raw } of noise) {
          const key = keyOf(raw) ?? '';
          if (!kept.has(`${resource} ${key}`)) crooked.remove(resource, key);
        }
        expect(crooked.encode(header)).toEqual(builderOf(last).encode(header));
      }),
    );
  });

  test('an upsert says `same` exactly when the bytes stay the same', () => {
    fc.assert(
      fc.property(fc.array(rawObject, { maxLength: 20 }), rawObject, (objects, next) => {
        const builder = builderOf(objects);
        const before = builder.encode(header);
        const change = builder.upsert(next.resource, next.raw);
        expect(change.kind === 'same').toBe(Buffer.from(before).equals(builder.encode(header)));
      }),
    );
  });

  test('a listing that names everything again changes nothing; what it leaves out goes [M01]', () => {
    fc.assert(
      fc.property(fc.array(rawPod, { maxLength: 30 }), fc.array(rawPod, { maxLength: 30 }), (before, listed) => {
        const builder = builderOf(before);
        builder.beginListing('pods');
        for (const { raw } of lastOfEach(listed)) builder.upsert('pods', raw);
        builder.finishListing('pods');
        expect(builder.encode(header)).toEqual(builderOf(lastOfEach(listed)).encode(header));
      }),
    );
  });

  test('a parsed snapshot names every pod that has not run its course, with what it carries', () => {
    fc.assert(
      fc.property(fc.array(rawPod, { maxLength: 40 }), (objects) => {
        const snapshot: Cluster = parseSnapshot(builderOf(objects).encode(header));
        const live = lastOfEach(objects).filter(({ raw }) => !/Succeeded|Failed/.test(JSON.stringify(raw)));
        const got = snapshot.pods.map((pod) => `${snapshot.shapes[pod.shape]?.namespace}/${pod.name}`);
        expect(got.toSorted()).toEqual(live.map(({ raw }) => keyOf(raw) ?? '').toSorted());
      }),
    );
  });

  test('bytes that were damaged are refused with a TypeError, or give a whole snapshot', () => {
    const bytes = builderOf(fc.sample(rawObject, { numRuns: 60, seed: 1 })).encode(header);
    const json = zstdDecompressSync(bytes).toString();
    const parseOrRefuse = (damaged: Uint8Array): void => {
      try {
        const snapshot = parseSnapshot(damaged);
        expect(snapshot.pods.every((pod) => snapshot.shapes[pod.shape] !== undefined)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
      }
    };
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(json.length - 1), fc.json(), (at, byte, cut, other) => {
        parseOrRefuse(bytes.with(at, byte));
        parseOrRefuse(bytes.subarray(0, at));
        parseOrRefuse(zstdCompressSync(json.slice(0, cut) + String(byte) + json.slice(cut + 1)));
        parseOrRefuse(zstdCompressSync(other));
      }),
    );
  });

  test('any one field of a snapshot may be any JSON, and parsing ends in a snapshot or a TypeError', () => {
    const bytes = builderOf(fc.sample(rawObject, { numRuns: 60, seed: 2 })).encode(header);
    const whole = JSON.parse(zstdDecompressSync(bytes).toString()) as Record<string, unknown>;
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(whole)), fc.jsonValue(), fc.boolean(), (name, value, inList) => {
        const damaged = { ...whole, [name]: inList ? [value] : value };
        try {
          parseSnapshot(zstdCompressSync(JSON.stringify(damaged)));
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          expect(String(error)).toContain('not a snapshot: ');
        }
      }),
    );
  });
});
