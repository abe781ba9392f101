import { describe, expect, test } from 'vitest';
import { openBreakers } from '../../../../../shared/core/disruption/brakes/breaker.ts';
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
    ['of more the last three count', [300, 40, 20, 10], at(NOW + 50 * MINUTE)],
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

  test('whichever way Azure spells the machine of one that is on its way out', () => {
    const { node, claim } = sick('b');
    const leaving: Machine = {
      node: { ...node, spec: { ...node.spec, providerID: 'azure:///B' } },
      claim: { ...claim, metadata: { ...claim.metadata, deletionTimestamp: at(NOW) } },
    };
    expect(braked([...well(3), sick('a'), leaving])).toBeNull();
  });
});
