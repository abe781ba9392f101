import { describe, expect, test } from 'vitest';
import { heirsOf, moversAmong } from '../../../../../shared/app/gather/movers/heirs.ts';
import { shapeDigest, type Present } from '../../../../../shared/app/gather/movers/planned.ts';
import type { Mover } from '../../../../../shared/ports/store.ts';
import { pod, shapes } from './alike.ts';

type Pod = Present['pods'][number];

const mover = (uid: string, parts: Partial<Mover> = {}): Mover => {
  return { uid, owner: 'shop', shape: shapeDigest(shapes[0]), ...parts };
};

interface Given {
  readonly pods?: ReadonlyArray<Pod>;
  /** How many the owner wants; absent: it is not known. */
  readonly desired?: number;
  readonly kind?: 'Job';
  readonly movers?: ReadonlyArray<Mover>;
  readonly taken?: ReadonlyArray<string>;
}

/** Node `old` is marked to go, by its own taint; `n-c` is by its claim. `stays` is neither. */
const nodes = ['old', 'stays'].map((name) => ({
  metadata: { name },
  spec: { taints: name === 'old' ? [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] : [] },
}));
const going = {
  metadata: { name: 'c', deletionTimestamp: '2026-01-01T00:00:00Z' },
  spec: {},
  status: { nodeName: 'n-c' },
};
const living = { metadata: { name: 'd' }, spec: {}, status: { nodeName: 'stays' } };

function seen({ pods = [], desired, kind }: Given): Present {
  const owners =
    desired === undefined
      ? []
      : [
          { uid: 'other', desired: 99 },
          { uid: 'shop', desired, kind },
        ];
  return { pods, shapes, owners, nodes, nodeClaims: [going, living] } as unknown as Present;
}

function heirs(given: Given) {
  const taken = new Set(given.taken);
  const { waiting, ...counts } = heirsOf(given.movers ?? [mover('m')], 'new', seen(given), taken);
  return { ...counts, waiting: waiting.map(({ uid }) => uid), taken: [...taken] };
}

const NOBODY = { waiting: [], awaited: 0, unborn: 0, taken: [] };

describe('movers', () => {
  const among = (pods: ReadonlyArray<Pod>, desired?: number) =>
    moversAmong(
      { ...seen(desired === undefined ? { pods } : { pods, desired }) } as Parameters<typeof moversAmong>[0],
      new Set(['m', 'n']),
    );

  test('are those asked for that run somewhere and have an owner', () => {
    expect(among([pod('m', 'old'), pod('n', null), pod('x', 'old')])).toEqual([mover('m')]);
    expect(among([pod('m', 'old', { shape: 3 })])).toEqual([]);
    expect(among([pod('m', 'old', { shape: 99 })])).toEqual([]);
  });

  test('are counted where it is known how many their owner wants', () => {
    expect(among([pod('m', 'old')], 1)).toEqual([mover('m', { isCounted: true })]);
    expect(among([pod('m', 'old', { shape: 2 })], 1)).toEqual([mover('m', { owner: 'office' })]);
  });
});

describe('for one who is where it was', () => {
  test('somebody is awaited while its node goes, whoever says so', () => {
    expect(heirs({ pods: [pod('m', 'old')] })).toEqual({ ...NOBODY, awaited: 1 });
    expect(heirs({ pods: [pod('m', 'n-c')] })).toEqual({ ...NOBODY, awaited: 1 });
    expect(heirs({ pods: [pod('m', 'stays')] })).toEqual(NOBODY);
    expect(heirs({ pods: [pod('m', null)] })).toEqual(NOBODY);
  });

  test('nobody comes yet: who waits is no successor', () => {
    expect(heirs({ pods: [pod('m', 'old'), pod('w', null)] })).toEqual({ ...NOBODY, awaited: 1 });
  });
});

describe('for one who is gone, or on its way out,', () => {
  test('comes a pod of its owner and shape that waits, or has come', () => {
    expect(heirs({ pods: [pod('w', null)] })).toEqual({ ...NOBODY, waiting: ['w'], taken: ['w'] });
    expect(heirs({ pods: [pod('m', 'old', { deleting: true }), pod('w', null)] })).toMatchObject({ waiting: ['w'] });
    expect(heirs({ pods: [pod('w', 'new')] })).toEqual({ ...NOBODY, taken: ['w'] });
  });

  test('no other: of another owner or shape, elsewhere, on its way out or taken', () => {
    const others = [
      pod('a', null, { shape: 1 }),
      pod('b', null, { shape: 2 }),
      pod('c', 'else'),
      pod('d', null, { deleting: true }),
      pod('e', null),
      pod('f', null, { shape: 3 }),
      pod('g', null, { shape: 99 }),
    ];
    expect(heirs({ pods: others, taken: ['e'] })).toMatchObject({ waiting: [], awaited: 1, unborn: 1 });
  });

  test('who has come counts first, and each once', () => {
    const pods = [pod('w', null), pod('there', 'new')];
    expect(heirs({ pods })).toEqual({ ...NOBODY, taken: ['there'] });
    expect(heirs({ pods, movers: [mover('m'), mover('n')] })).toMatchObject({ waiting: ['w'], awaited: 0 });
    expect(heirs({ pods, movers: [mover('m'), mover('n'), mover('o')] })).toMatchObject({ awaited: 1, unborn: 1 });
  });

  test('somebody is to be born, unless its owner has as many as it wants', () => {
    const counted = [mover('m', { isCounted: true })];
    const has = [pod('x', 'else'), pod('y', 'else', { deleting: true }), pod('z', 'else', { shape: 2 })];
    expect(heirs({ movers: counted, pods: has, desired: 2 })).toEqual({ ...NOBODY, awaited: 1, unborn: 1 });
    expect(heirs({ movers: counted, pods: has, desired: 1 })).toEqual(NOBODY);
    // One that is in no snapshot wants none.
    expect(heirs({ movers: counted, pods: has })).toEqual(NOBODY);
    expect(heirs({ pods: has, desired: 1 })).toEqual({ ...NOBODY, awaited: 1, unborn: 1 });
  });

  test('nobody is to be born of a Job: it may make its next pod minutes later, and that comes in its place then', () => {
    const job = { movers: [mover('m', { isCounted: true })], desired: 2, kind: 'Job' } as const;
    expect(heirs(job)).toEqual(NOBODY);
    expect(heirs({ ...job, pods: [pod('w', null)] })).toEqual({ ...NOBODY, waiting: ['w'], taken: ['w'] });
    expect(heirs({ ...job, pods: [pod('m', 'old')] })).toMatchObject({ awaited: 1, unborn: 0 });
  });

  test('nobody where nobody moves', () => {
    expect(heirs({ movers: [], pods: [pod('w', null)] })).toEqual(NOBODY);
  });
});
