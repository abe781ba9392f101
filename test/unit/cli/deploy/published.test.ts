import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type World, optionsOf, ready, root, type } from '../../../kit/cli/fake-azure.ts';

const relayImage = `ghcr.io/somebody/nodewright-relay@sha256:${'7'.repeat(64)}`;
let home = '';

/** A folder as the published package has it, with a template that Bicep could have compiled. */
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nodewright-package-'));
  for (const path of ['package.json', 'infra/main.parameters.json', 'infra/chart', 'examples']) {
    cpSync(join(root, path), join(home, path), { recursive: true });
  }
  const types = {
    instanceMemoryMB: 'int',
    createRegistry: 'bool',
    azureEvents: 'bool',
    scheduledEvents: 'bool',
    scaleByQueueLength: 'bool',
  };
  const parameters = Object.fromEntries(Object.entries(types).map(([name, kind]) => [name, { type: kind }]));
  writeFileSync(join(home, 'infra/main.json'), JSON.stringify({ parameters }));
  writeFileSync(join(home, 'release.json'), JSON.stringify({ relayImage }));
  mkdirSync(join(home, 'dist'));
});

afterEach(() => rmSync(home, { recursive: true }));

const world = (): World => ready({ files: [join(home, 'dist/app.zip')] });

describe('the published package', () => {
  test('deploys its own template, code and image, and builds nothing', async () => {
    const before = world();
    const { code, said, requests } = await type(before, optionsOf(), { home });
    expect(said).not.toMatch(/^✗/m);
    expect(code).toBe(0);
    expect(requests.filter((one) => /^(npm|az acr)|acr /.test(one))).toEqual([]);
    expect(before.record?.parameters['createRegistry']).toEqual({ value: false });
    const created = requests.find((one) => one.startsWith('deployment sub create')) ?? '';
    expect(created).toContain(`--template-file ${join(home, 'infra/main.json')}`);
    const sent = requests.find((one) => one.startsWith('functionapp deployment source config-zip')) ?? '';
    expect(sent).toContain(`--src ${join(home, 'dist/app.zip')}`);
    expect(said).toContain(`kubectl apply -f ${join(home, 'examples/general-purpose.yaml')}`);
  });

  test('names its own files in what is left to type after it has been removed', async () => {
    const before = world();
    await type(before, optionsOf(), { home });
    const { code, said } = await type(before, optionsOf({ kind: 'uninstall', isYes: true }), { home });
    expect(code).toBe(0);
    expect(said).toContain(`kubectl delete -f ${join(home, 'infra/chart/definitions')}.`);
  });

  test('takes another image that is named, and its own where the variable is empty', async () => {
    const other = 'registry.example.com/nodewright-relay:9';
    const named = await type(world(), optionsOf(), { home, environment: { NODEWRIGHT_RELAY_IMAGE: other } });
    expect(named.code).toBe(0);
    const empty = await type(world(), optionsOf(), { home, environment: { NODEWRIGHT_RELAY_IMAGE: '' } });
    expect(empty.code).toBe(0);
    expect(empty.requests.filter((one) => one.includes('acr build'))).toEqual([]);
  });

  test('without an image, a template or the code says so before anything is made', async () => {
    rmSync(join(home, 'release.json'));
    const imageless = await type(world(), optionsOf(), { home });
    expect(imageless.code).toBe(2);
    expect(imageless.said).toContain('this package names no image of the relay');
    writeFileSync(join(home, 'release.json'), JSON.stringify({ relayImage }));
    const codeless = await type(ready({ files: [] }), optionsOf(), { home });
    expect(codeless.said).toContain(`${join(home, 'dist/app.zip')} does not exist, and nothing can pack it`);
    rmSync(join(home, 'infra/main.json'));
    const templateless = await type(world(), optionsOf(), { home });
    expect(templateless.said).toContain('this package has no infra/main.json');
    for (const { requests } of [imageless, codeless, templateless]) {
      expect(requests.filter((one) => /create|update/.test(one))).toEqual([]);
    }
  });
});
