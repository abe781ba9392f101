import { describe, expect, test } from 'vitest';
import { openBreakers, readFailures, renderFailures } from '../../../../../shared/core/disruption/brakes/breaker.ts';
import { disruptable, machine, NOW, type Machine } from '../../../../kit/core/build-disruption.ts';

const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** What holds the nodes of pool `general`, whose replacements failed at these times. */
function braked(machines: ReadonlyArray<Machine>, failuresMs: ReadonlyArray<number> = []): unknown {
  const failures = failuresMs.map((ms, index) => `${index}-d=${at(ms)}`).join(',');
  const pool = disruptable();
  const annotations = { 'nodewright.dev/disruption-failures': failures };
  const cluster = {
    nodePools: [{ ...pool, metadata: { ...pool.metadata, annotations } }],
    nodes: machines.map(({ node }) => node),
    nodeClaims: machines.map(({ claim }) => claim),
  };
  const brake = openBreakers(cluster, NOW).get('general');
  return brake?.kind === 'breaker' ? (brake.until ?? brake.why) : null;
}

describe('steps whose replacements failed stop a pool', () => {
  test.each<[string, ReadonlyArray<number>, string | null]>([
    ['three within an hour do, for an hour after the last', [60, 30, 10], at(NOW + 50 * MINUTE)],
    ['two do not', [30, 10], null],
    ['three within more than an hour do not', [61 + 10, 30, 10], null],
    ['three do no more when the hour is over', [120, 90, 60], null],
    ['one that is to come does not count', [30, 10, -10], null],
    ['three within an hour to the second do', [70, 30, 10], at(NOW + 50 * MINUTE)],
    ['one that fails now counts', [30, 10, 0], at(NOW + 60 * MINUTE)],
    ['and the pool stops to the last second', [61, 60 - 1 / 60, 60 - 1 / 60], at(NOW + 1000)],
    ['of more the last three count', [300, 40, 20, 10], at(NOW + 50 * MINUTE)],
    ['none do not', [], null],
  ])('%s', (_, minutesAgo, until) => {
    expect(
      braked(
        [],
        minutesAgo.map((ago) => NOW - ago * MINUTE),
      ),
    ).toBe(until);
  });
});

describe('nodes that are not ready stop a pool', () => {
  const well = (count: number): ReadonlyArray<Machine> =>
    Array.from({ length: count }, (_, index) => machine(`well-${index}`));
  const sick = (name: string, parts: Parameters<typeof machine>[1] = {}): Machine =>
    machine(name, { nodeConditions: [{ type: 'Ready', status: 'False' }], ...parts });
  const why = (count: number, all: number): string => `${count} of its ${all} nodes are not ready`;

  test('where they are more than a fifth of it, rounded up', () => {
    expect(braked([...well(8), sick('a'), sick('b')])).toBeNull();
    expect(braked([...well(7), sick('a'), sick('b'), sick('c')])).toBe(why(3, 10));
    expect(braked([...well(3), sick('a')])).toBeNull();
    expect(braked([...well(2), sick('a'), sick('b')])).toBe(why(2, 4));
  });

  test('and those that have not begun, or are on their way out, say nothing', () => {
    const deleted = { deletionTimestamp: at(NOW) };
    const { node, claim } = sick('b');
    const leaving: Machine = { node, claim: { ...claim, metadata: { ...claim.metadata, ...deleted } } };
    expect(braked([...well(3), sick('a'), sick('b', { initialized: false })])).toBeNull();
    expect(braked([...well(3), sick('a'), sick('b', { nodeParts: deleted })])).toBeNull();
    expect(braked([...well(3), sick('a'), leaving])).toBeNull();
  });

  test('but those that do not name their machine count, whatever claim goes before it has one', () => {
    const nameless = (one: Machine): Machine => ({ ...one, node: { ...one.node, spec: { taints: [] } } });
    const { node, claim } = machine('never');
    const { status: _, ...unmade } = claim;
    const going = { node, claim: { ...unmade, metadata: { ...claim.metadata, deletionTimestamp: at(NOW) } } };
    expect(braked([...well(2), nameless(sick('a')), nameless(sick('b')), going])).toBe(why(2, 5));
    const { spec: __, ...bare } = sick('b').node;
    expect(braked([...well(2), sick('a'), { node: bare, claim: going.claim }])).toBe(why(2, 4));
  });

  test('whichever way Azure spells the machine of one that is on its way out', () => {
    const { node, claim } = sick('b');
    const leaving: Machine = {
      node: { ...node, spec: { ...node.spec, providerID: 'azure:///B' } },
      claim: { ...claim, metadata: { ...claim.metadata, deletionTimestamp: at(NOW) } },
    };
    expect(braked([...well(3), sick('a'), leaving])).toBeNull();
  });
});

describe('what a pool says of steps that failed', () => {
  const of = (text?: string) => readFailures({ metadata: { name: 'p', ...(text === undefined ? {} : said(text)) } });
  const said = (text: string) => ({ annotations: { 'nodewright.dev/disruption-failures': text } });
  const failure = (decision: string, minute: number) => ({ decision, atMs: Date.UTC(2026, 0, 1, 0, minute) });

  test('is read as it is written', () => {
    const text = 'a=2026-01-01T00:01:00Z,b=2026-01-01T00:02:00Z';
    expect(of(text)).toEqual([failure('a', 1), failure('b', 2)]);
    expect(renderFailures([failure('a', 1)], failure('b', 2))).toBe(text);
  });

  test('is nothing where it says nothing, and what is no failure is left out', () => {
    expect([of(), of('')]).toEqual([[], []]);
    expect(of('a=yesterday,b,=,c=2026-01-01T00:02:00Z')).toEqual([failure('c', 2)]);
  });

  test('is the last three, with one more', () => {
    const known = [1, 2, 3].map((minute) => failure(`d${minute}`, minute));
    const text = renderFailures(known, failure('d4', 4));
    expect(of(text).map(({ decision }) => decision)).toEqual(['d2', 'd3', 'd4']);
  });
});

test('a pool that fails is held for that until its time is over, whatever its nodes do, and others are not held', () => {
  const machines = ['a', 'b', 'c'].map((name) =>
    machine(name, { nodeConditions: [{ type: 'Ready', status: 'Unknown' }], nodePool: 'sick' }),
  );
  const unsaid = machine('d', { nodeConditions: [], nodePool: 'silent' });
  const all = [...machines, unsaid, machine('e'), machine('f', { nodePool: 'other' })];
  const cluster = {
    nodePools: ['general', 'sick', 'silent', 'other'].map((name) => disruptable(name)),
    nodes: all.map(({ node }) => node),
    nodeClaims: all.map(({ claim }) => claim),
  };
  expect([...openBreakers(cluster, NOW)]).toEqual([
    ['sick', { kind: 'breaker', until: null, why: '3 of its 3 nodes are not ready' }],
  ]);
});
