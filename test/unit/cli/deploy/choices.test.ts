import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readValues } from '../../../../infra/hooks/in-the-cluster.ts';
import { type Typed, type World, optionsOf, ready, root, type } from '../../../kit/cli/fake-azure.ts';

/** What main.bicep has for who says nothing, as far as it matters here. */
const DEFAULTS = {
  currency: 'USD',
  relayImage: '',
  createRegistry: true,
  instanceMemoryMB: 2048,
  createAlerts: true,
  alwaysReadyFunctions: ['provision', 'interrupt'],
  monthlyBudget: 0,
  budgetStartDate: '2026-11-01',
  settings: {},
};
const upgrade = optionsOf({ kind: 'upgrade' });
const other = 'registry.example.com/nodewright-relay:9';
const releaseOf = (digit: string): string => `ghcr.io/somebody/nodewright-relay@sha256:${digit.repeat(64)}`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nodewright-choices-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file of parameters, as az takes it. */
function fileOf(values: Readonly<Record<string, unknown>>): string {
  const file = join(folder, 'own.json');
  const parameters = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
  writeFileSync(file, JSON.stringify({ parameters }));
  return file;
}

const world = (parts: Partial<World> = {}): World =>
  ready({ defaults: DEFAULTS, files: [`${root}/scripts/pack.ts`, join(folder, 'own.json')], ...parts });
const keptIn = ({ said }: Typed): ReadonlyArray<string> => said.match(/(?<=^ {2})keeps .*/gm) ?? [];

/** A folder as a published package has it. */
function packageOf(version: string, image: string): string {
  const home = join(folder, version);
  mkdirSync(join(home, 'dist'), { recursive: true });
  for (const path of ['package.json', 'infra/main.parameters.json', 'infra/main.bicep', 'infra/chart', 'examples']) {
    cpSync(join(root, path), join(home, path), { recursive: true });
  }
  writeFileSync(join(home, 'release.json'), JSON.stringify({ relayImage: image }));
  return home;
}

describe('a choice holds until another is made', () => {
  test('it is told in a line each, with the day that it is from', async () => {
    const before = world();
    await type(before, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'EUR', NODEWRIGHT_RELAY_IMAGE: other } });
    const ended = await type(before, upgrade);
    expect(ended.code).toBe(0);
    const from = 'from the deployment of 2026-11-26T01:05:00Z';
    expect(keptIn(ended)).toContain(`keeps NODEWRIGHT_CURRENCY EUR, ${from}`);
    expect(keptIn(ended)).toContain(`keeps NODEWRIGHT_RELAY_IMAGE ${other}, ${from}`);
    expect(ended.requests.filter((one) => one.includes('acr build'))).toEqual([]);
    expect(before.record?.parameters).toMatchObject({ currency: { value: 'EUR' }, relayImage: { value: other } });
    expect(before.values).toMatchObject({ image: { repository: 'registry.example.com/nodewright-relay', tag: '9' } });
  });

  test.for(['deploy', 'upgrade'] as const)(
    '%s takes another where one is named, and says nothing of the old',
    async (kind) => {
      const before = world();
      await type(before, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'EUR', NODEWRIGHT_RELAY_IMAGE: other } });
      const ended = await type(before, optionsOf({ kind }), {
        environment: { NODEWRIGHT_CURRENCY: 'CHF', NODEWRIGHT_RELAY_IMAGE: `${other}1` },
      });
      expect(keptIn(ended).filter((line) => /CURRENCY|IMAGE/.test(line))).toEqual([]);
      expect(before.record?.parameters).toMatchObject({
        currency: { value: 'CHF' },
        relayImage: { value: `${other}1` },
      });
    },
  );

  test('an empty variable takes it back', async () => {
    const before = world();
    await type(before, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'EUR', NODEWRIGHT_RELAY_IMAGE: other } });
    const ended = await type(before, upgrade, {
      environment: { NODEWRIGHT_CURRENCY: '', NODEWRIGHT_RELAY_IMAGE: '' },
    });
    expect(ended.requests.filter((one) => one.includes('acr build'))).toHaveLength(1);
    expect(before.record?.parameters).toMatchObject({ currency: { value: 'USD' }, relayImage: { value: '' } });
  });

  test('parameters that no variable says stay too, and single settings beside those that one says', async () => {
    const before = world();
    const chosen = {
      createAlerts: false,
      alwaysReadyFunctions: ['provision'],
      settings: { SWEEP_SCHEDULE: '0 * * * *' },
    };
    await type(before, optionsOf({ parameters: fileOf(chosen) }));
    const ended = await type(before, upgrade, { environment: { NODEWRIGHT_DISRUPTION: 'off' } });
    expect(keptIn(ended).map((line) => line.replace(/, from .*/, ''))).toEqual(
      expect.arrayContaining([
        'keeps createAlerts false',
        'keeps alwaysReadyFunctions ["provision"]',
        'keeps settings.SWEEP_SCHEDULE "0 * * * *"',
      ]),
    );
    expect(before.record?.parameters).toMatchObject({
      createAlerts: { value: false },
      alwaysReadyFunctions: { value: ['provision'] },
      settings: { value: { SWEEP_SCHEDULE: '0 * * * *', DISRUPTION: 'off' } },
    });
    await type(before, optionsOf({ kind: 'upgrade', parameters: fileOf({ createAlerts: true }) }));
    expect(before.record?.parameters).toMatchObject({
      createAlerts: { value: true },
      alwaysReadyFunctions: { value: ['provision'] },
    });
  });

  test('a default of the version before is no choice: the newer version has its own', async () => {
    const before = world({
      defaults: { ...DEFAULTS, alwaysReadyFunctions: ['provision', 'launch'], instanceMemoryMB: 512 },
    });
    await type(before, optionsOf(), { environment: { NODEWRIGHT_INSTANCE_MEMORY_MB: '512' } });
    const ended = await type(before, upgrade);
    expect(keptIn(ended).filter((line) => /alwaysReady|MEMORY/.test(line))).toEqual([]);
    // Of this one's file of parameters.
    expect(before.record?.parameters['instanceMemoryMB']).toEqual({ value: 2048 });
  });

  test('a budget keeps the month that it began with, and without one the month is not kept', async () => {
    const before = world();
    await type(before, optionsOf({ parameters: fileOf({ monthlyBudget: 100, budgetStartDate: '2026-10-01' }) }));
    expect(keptIn(await type(before, upgrade)).join('\n')).toMatch(/budgetStartDate "2026-10-01"/);
    const without = world({ defaults: { ...DEFAULTS, budgetStartDate: "[utcNow('yyyy-MM-01')]" } });
    await type(without, optionsOf({ parameters: fileOf({ budgetStartDate: '2026-10-01' }) }));
    expect(keptIn(await type(without, upgrade)).join('\n')).not.toContain('budgetStartDate');
  });

  test('where Azure does not tell what was chosen, nothing is deployed without it', async () => {
    const before = world();
    await type(before, optionsOf());
    const { code, said, requests } = await type(before, upgrade, {
      mishap: (request) => (request.startsWith('deployment sub export') ? 'refused' : null),
    });
    expect(code).toBe(1);
    expect(said).toContain('✗ cannot read the template of nodewright-my-cluster');
    expect(requests.filter((one) => /create|update|invoke|config-zip/.test(one))).toEqual([]);
  });

  test('a file of parameters that does not exist is told before anything is asked', async () => {
    const { code, said } = await type(world(), optionsOf({ parameters: 'nowhere.json' }));
    expect([code, said]).toEqual([2, expect.stringContaining('--parameters: nowhere.json does not exist')]);
  });
});

describe('values of the chart', () => {
  const chosen = { tolerations: [{ key: 'x' }], image: { pullPolicy: 'Always' } };

  test('that are one’s own stay, and those that the deployment decides are its own', async () => {
    const before = world();
    await type(before, optionsOf());
    // As Helm keeps them when a file of one's own came along.
    before.values = {
      ...before.values,
      ...chosen,
      image: { ...(before.values?.['image'] as object), ...chosen.image },
    };
    const ended = await type(before, upgrade, { environment: { NODEWRIGHT_RELAY_IMAGE: other } });
    expect(ended.said).toContain(
      'keeps values of the chart, from the cluster: image.pullPolicy, nodeSelector.kubernetes.io/arch, tolerations',
    );
    expect(before.values).toMatchObject({
      tolerations: [{ key: 'x' }],
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      image: { repository: 'registry.example.com/nodewright-relay', tag: '9' },
    });
  });

  test('none are told where there are none, and none are asked for where a file is named, or an empty one', async () => {
    const before = world();
    await type(before, optionsOf());
    expect((await type(before, upgrade)).said).not.toContain('keeps values of the chart');
    before.values = { ...before.values, ...chosen };
    const { said, requests } = await type(before, upgrade, { environment: { NODEWRIGHT_CHART_VALUES: '' } });
    expect(said).not.toContain('keeps values of the chart');
    expect(requests.filter((one) => one.includes('helm get values'))).toEqual([]);
    expect(before.values).not.toHaveProperty('tolerations');
  });

  test('where Helm does not tell them nothing is installed, as they would be lost', () => {
    expect(readValues('Error: release: not found\n')).toEqual({});
    expect(readValues('null\n')).toEqual({});
    expect(readValues('WARNING: Kubernetes configuration file is group-readable\n{"a":{"b":1}}\n')).toEqual({
      a: { b: 1 },
    });
    expect(() => readValues('Error: query: failed to query with labels: secrets is forbidden\n')).toThrow(
      'helm does not tell the values that the chart has: Error: query: failed',
    );
  });

  test('--dry-run says that they would stay', async () => {
    const before = world();
    await type(before, optionsOf());
    before.values = { ...before.values, ...chosen };
    const { said } = await type(before, optionsOf({ kind: 'upgrade', isDry: true }));
    expect(said).toContain('keeps values of the chart, from the cluster: image.pullPolicy, tolerations');
  });
});

describe('the published package', () => {
  test('brings the image of its version, whichever the version before brought, and keeps one of one’s own', async () => {
    const [older, newer] = [packageOf('1', releaseOf('1')), packageOf('2', releaseOf('2'))];
    const before = world({ files: [join(older, 'dist/app.zip'), join(newer, 'dist/app.zip')] });
    await type(before, optionsOf(), { home: older });
    expect(before.values).toMatchObject({ image: { digest: `sha256:${'1'.repeat(64)}` } });
    const ended = await type(before, upgrade, { home: newer });
    expect(keptIn(ended).filter((line) => /IMAGE|REGISTRY/.test(line))).toEqual([]);
    expect(before.values).toMatchObject({ image: { digest: `sha256:${'2'.repeat(64)}` } });
    await type(before, upgrade, { home: older, environment: { NODEWRIGHT_RELAY_IMAGE: other } });
    expect(keptIn(await type(before, upgrade, { home: newer })).join('\n')).toContain(`IMAGE ${other}`);
    expect(before.values).toMatchObject({ image: { repository: 'registry.example.com/nodewright-relay', tag: '9' } });
  });

  test('does not keep the image of another of its versions either where somebody has named it', async () => {
    const newer = packageOf('2', releaseOf('2'));
    for (const older of [packageOf('1', releaseOf('1')), root]) {
      const before = world({ files: [join(older, 'dist/app.zip'), join(newer, 'dist/app.zip')] });
      await type(before, optionsOf(), { home: older, environment: { NODEWRIGHT_RELAY_IMAGE: releaseOf('3') } });
      await type(before, upgrade, { home: newer });
      expect(before.values).toMatchObject({ image: { digest: `sha256:${'2'.repeat(64)}` } });
    }
  });

  test('takes its own image in place of one of one’s own where the variable is empty', async () => {
    const home = packageOf('1', releaseOf('1'));
    const before = world({ files: [join(home, 'dist/app.zip')] });
    await type(before, optionsOf(), { home, environment: { NODEWRIGHT_RELAY_IMAGE: other } });
    await type(before, upgrade, { home, environment: { NODEWRIGHT_RELAY_IMAGE: '' } });
    expect(before.values).toMatchObject({ image: { digest: `sha256:${'1'.repeat(64)}` } });
    expect(before.record?.parameters['relayImage']).toEqual({ value: '' });
  });

  test('leaves its deployment to a checkout, which builds, and a registry that one has made to the package', async () => {
    const home = packageOf('1', releaseOf('1'));
    const before = world({ files: [join(home, 'dist/app.zip'), `${root}/scripts/pack.ts`] });
    await type(before, optionsOf(), { home });
    const built = await type(before, upgrade);
    expect(built.requests.filter((one) => one.includes('acr build'))).toHaveLength(1);
    expect(before.record?.parameters['createRegistry']).toEqual({ value: true });
    const again = await type(before, upgrade, { home });
    expect(keptIn(again)).toContain(
      'keeps NODEWRIGHT_CREATE_REGISTRY true, from the deployment of 2026-11-26T01:05:00Z',
    );
    expect(again.requests.filter((one) => one.includes('acr build'))).toEqual([]);
  });
});
