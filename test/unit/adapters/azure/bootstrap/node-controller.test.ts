import { describe, expect, test } from 'vitest';
import {
  type NodeConfig,
  type Variables,
  missingFields,
  variablesOf,
} from '../../../../../sandbox/node/node-controller.ts';
import { golden } from '../../../../kit/azure/read.ts';

interface Row {
  readonly field: string;
  readonly value: unknown;
  readonly given?: Readonly<Record<string, unknown>>;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly validate?: string;
}

const { base, table, defaults } = golden('node-config') as {
  readonly base: NodeConfig;
  readonly table: ReadonlyArray<Row>;
  readonly defaults: Variables;
};
const { commonVariables, pairs } = golden('node-config-pairs') as {
  readonly commonVariables: Variables;
  readonly pairs: ReadonlyArray<{
    readonly name: string;
    readonly nodeConfig: NodeConfig;
    readonly variables: Variables;
  }>;
};

/** `config` with the field at a path set, or removed where the value is null. */
function set(config: NodeConfig, path: string, value: unknown): NodeConfig {
  const [first = '', ...rest] = path.split('.');
  if (rest.length > 0) return { ...config, [first]: set((config[first] ?? {}) as NodeConfig, rest.join('.'), value) };
  const { [first]: _old, ...others } = config;
  return value === null ? others : { ...others, [first]: value };
}

const modelled = Object.keys(variablesOf({}));

/** Variables whose changes the table gives as settings or texts, which the model does not have. */
const isText = (change: unknown): change is readonly [string, string] => Array.isArray(change);

describe('the double of AgentBaker’s node controller', () => {
  test('starts from the same defaults', () => {
    const expected = Object.fromEntries(modelled.map((name) => [name, defaults[name]]));
    expect(variablesOf({ version: 'v1' })).toEqual(expected);
  });

  test.for(table.map((row, index) => [index, row] as const))('row %i: as the real one', ([, row]) => {
    const given = Object.entries(row.given ?? {}).reduce((config, [path, value]) => set(config, path, value), base);
    const changed = set(given, row.field, row.value);
    const [before, after] = [variablesOf(given), variablesOf(changed)];
    for (const name of modelled) {
      const change = row.changes[name];
      // The real one drops a flag that newer kubelets do not know; what it is given has none of them here.
      if (isText(change)) expect([name, before[name], after[name]]).toEqual([name, ...change]);
      else expect([name, after[name]]).toEqual([name, before[name]]);
    }
    if (row.validate !== undefined) expect(row.validate).toContain(missingFields(changed)[0] ?? 'nothing');
    else expect(missingFields(changed)).toEqual([]);
  });

  test.for(pairs.map((pair) => [pair.name, pair] as const))('pair %s: as the real one', ([, pair]) => {
    const real = { ...commonVariables, ...pair.variables };
    const expected = Object.fromEntries(modelled.map((name) => [name, real[name]]));
    expect(variablesOf(pair.nodeConfig)).toEqual(expected);
  });
});
