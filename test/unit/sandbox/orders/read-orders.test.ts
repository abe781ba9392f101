import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Assignment, parseAssignment } from '../../../../sandbox/orders/assignment.ts';
import { readConfig } from '../../../../sandbox/orders/read-config.ts';
import { type GivenOrders, type Orders, readOrders } from '../../../../sandbox/orders/read-orders.ts';
import { quickLatency } from '../../../../sandbox/azure/state/options.ts';

const root = join(import.meta.dirname, '../../../..');
const folder = mkdtempSync(join(tmpdir(), 'orders-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const nothing: GivenOrders = { settings: [], azure: [], quota: [], config: null };

function on(option: string, ...texts: ReadonlyArray<string>): ReadonlyArray<Assignment> {
  return texts.map((text) => parseAssignment(option, text, 'X=Y'));
}

function read(orders: Partial<GivenOrders>): Orders {
  return readOrders(root, { ...nothing, ...orders }, quickLatency);
}

const LAB = `
settings:
  FEATURE_GATES: StaticCapacity=true
  RESERVE_NODES: false
azure:
  requestMs: 5..10
  slowMs: 100
  noCapacity: [Standard_D8s_v5, D4s_v5/1]
  evictionRates: { Standard_D4s_v5: 20+ }
quota:
  cores: 16
`;

describe('a file of orders', () => {
  test('says what the command line would say, with lists and maps for what that joins with commas and colons', () => {
    const path = write('lab.yaml', LAB);
    const { settings, azure, quota } = readConfig(path);
    const plain = (all: ReadonlyArray<Assignment>): ReadonlyArray<string> =>
      all.map(({ name, value }) => `${name}=${value}`);
    expect(plain(settings)).toEqual(['FEATURE_GATES=StaticCapacity=true', 'RESERVE_NODES=false']);
    expect(plain(azure)).toEqual([
      'requestMs=5..10',
      'slowMs=100',
      'noCapacity=Standard_D8s_v5,D4s_v5/1',
      'evictionRates=Standard_D4s_v5:20+',
    ]);
    expect(plain(quota)).toEqual(['cores=16']);
    expect(settings[0]?.field).toBe(`${path}: settings.FEATURE_GATES`);
  });

  test('may be JSON, and may be empty', () => {
    expect(readConfig(write('lab.json', '{"quota": {"cores": 5}}')).quota).toMatchObject([
      { name: 'cores', value: '5' },
    ]);
    expect(readConfig(write('empty.yaml', '# nothing yet\n'))).toEqual({ settings: [], azure: [], quota: [] });
  });

  test.each([
    ['setings: {}', 'setings: did you mean settings?'],
    ['pods: 3', 'pods: write settings, azure, quota'],
    ['- settings', 'is no map: write settings, azure, quota in it'],
    ['settings: [A]', 'settings: write a map of names and values in it'],
    ['settings: { RESERVE_NODES: }', 'settings.RESERVE_NODES: it has no value: write one, or leave it out'],
    ['settings: { FEATURE_GATES: { A: true } }', 'settings.FEATURE_GATES: write a text, a number, true or false'],
    ['quota: { cores: [1] }', 'quota.cores: write a text, a number, true or false'],
    ['azure: { noCapacity: [[1]] }', 'azure.noCapacity: write a text'],
    ['quota: {}\n---\nquota: {}', 'holds 2 documents: give one'],
    ['a: b: c', 'at line 1'],
  ])('%j is refused with file, field and fix', (text, message) => {
    const path = write('wrong.yaml', text);
    expect(() => readConfig(path)).toThrow(`${path}: `);
    expect(() => readConfig(path)).toThrow(message);
  });

  test('that is not there is named', () => {
    const path = join(folder, 'no-such.yaml');
    expect(() => readConfig(path)).toThrow(`${path}: there is no such file: give a YAML or JSON file with --config`);
  });
});

describe('orders', () => {
  test('are the defaults where nothing is given', () => {
    const { settings, azure } = read({});
    expect(settings).toEqual({});
    expect(azure).toMatchObject({ region: 'westeurope', latency: quickLatency, quota: { totalRegionalCores: 2_000 } });
  });

  test('of the command line win over those of the file, name by name', () => {
    const { settings, azure } = read({
      config: write('lab.yaml', LAB),
      settings: on('--setting', 'RESERVE_NODES=true'),
      azure: on('--azure', 'SLOWMS=7'),
      quota: on('--quota', 'CORES=99'),
    });
    expect(settings).toEqual({ FEATURE_GATES: 'StaticCapacity=true', RESERVE_NODES: 'true' });
    expect(azure.faults.slowMs).toBe(7);
    expect(azure.latency.request).toEqual({ minMs: 5, maxMs: 10 });
    expect(azure.quota.totalRegionalCores).toBe(99);
  });

  test('that are wrong are all told at once, each with where it was given', () => {
    const config = write('wrong.yaml', 'settings: { RESERVE_NODES: maybe }\nquota: { core: 1 }\n');
    const wrong = (): Orders => read({ config, azure: on('--azure', 'slowMs=x') });
    expect(wrong).toThrow(`${config}: settings.RESERVE_NODES is maybe; it may be true or false`);
    expect(wrong).toThrow('--azure slowMs must be a number');
    expect(wrong).toThrow(`${config}: quota.core: there is no such quota; did you mean cores`);
  });

  test('know the sizes and families of the region that is asked for', () => {
    expect(read({ quota: on('--quota', 'standardDSv5Family=8') }).azure.quota.families).toEqual({
      standardDSv5Family: 8,
    });
    expect(read({ azure: on('--azure', 'region=eastus') }).azure).toMatchObject({
      region: 'eastus',
      resourceGroup: 'MC_nodewright_sandbox_eastus',
    });
  });
});
