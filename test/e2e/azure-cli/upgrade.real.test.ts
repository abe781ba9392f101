import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeAppZip } from '../../kit/azure-cli/app-zip.ts';
import { type OpenAzure, openAzure } from '../../kit/azure-cli/open-azure.ts';
import { titleOf, tools } from '../../kit/azure-cli/tell.ts';
import { stateOf, writesSince } from './state.ts';

const root = resolve(import.meta.dirname, '../../..');
const command = join(root, 'cli/bin.js');
const versionOf = (home: string): string =>
  (JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string }).version;

const OLDER = '0.0.9';
/** Where the older version has other defaults than this one. */
const OLDER_MEMORY_MB = 512;

/** az is started some twenty times in each, which takes a busy machine two minutes. */
const PATIENT = { timeout: 900_000 };

describe.skipIf(tools === null)(
  titleOf('nodewright upgrade, through the real az to a double of Azure'),
  PATIENT,
  () => {
    let opened: OpenAzure;
    let older: string;
    let upgrade: ReadonlyArray<string>;

    beforeAll(async () => {
      if (tools === null) return;
      opened = await openAzure(tools, { seed: 'upgrade', cluster: 'plain' });
      older = olderVersion(opened.folder);
      upgrade = [command, 'upgrade', '--cluster', opened.clusterId, '--app-zip', writeAppZip(opened.folder, '2.0.0')];
    });
    afterAll(() => opened?.close());

    const digestOf = (version: string): string =>
      createHash('sha256')
        .update(readFileSync(join(opened.folder, `app-${version}.zip`)))
        .digest('hex');
    const deployed = (): Readonly<Record<string, unknown>> =>
      [...opened.azure.management.deployments.values()][0]?.parameters ?? {};
    const codes = (): ReadonlyArray<string> =>
      [...opened.azure.management.sites.values()].map(({ codeDigest }) => codeDigest);
    const images = (): ReadonlyArray<readonly [string, string]> =>
      [...opened.azure.management.registries.values()].flatMap((registry) => [...registry.images]);

    test('where nothing is deployed it says so', async () => {
      const { code, err } = await opened.type(upgrade);
      expect(err).toContain('✗ nothing is deployed as nodewright-sandbox');
      expect(code).toBe(1);
    });

    test('an older version is deployed with choices of one’s own', async () => {
      const parameters = join(opened.folder, 'own.json');
      writeFileSync(parameters, JSON.stringify({ parameters: { createAlerts: { value: false } } }));
      const values = join(opened.folder, 'own-values.yaml');
      writeFileSync(values, 'tolerations:\n  - key: dedicated\nimage:\n  pullPolicy: Always\n');
      const zip = writeAppZip(opened.folder, '1.0.0');
      const words = ['deploy', '--cluster', opened.clusterId, '--app-zip', zip, '--parameters', parameters, '--yes'];
      const environment = { NODEWRIGHT_CURRENCY: 'EUR', NODEWRIGHT_CHART_VALUES: values };
      const { code, err } = await opened.type([join(older, 'cli/bin.js'), ...words], environment);
      // az tells of the build there.
      expect(err).not.toContain('✗');
      expect(code).toBe(0);
      expect(codes()).toEqual([digestOf('1.0.0')]);
      expect(images().map(([name]) => name)).toEqual([`nodewright-relay:${OLDER}`]);
      expect(deployed()).toMatchObject({ currency: 'EUR', createAlerts: false, instanceMemoryMB: OLDER_MEMORY_MB });
    });

    test('--dry-run says what it keeps and what it would change, and writes nothing', async () => {
      const before = stateOf(opened);
      const asked = opened.requests().length;
      const { code, out, err } = await opened.type([...upgrade, '--dry-run']);
      expect(err).toBe('');
      expect(out).toMatch(/^ {2}keeps NODEWRIGHT_CURRENCY EUR, from the deployment of \d{4}-/m);
      expect(out).toMatch(/^ {2}keeps createAlerts false, from the deployment of /m);
      expect(out).toContain('keeps values of the chart, from the cluster: image.pullPolicy, tolerations');
      expect(out).toContain('Nothing was changed.');
      expect(code).toBe(0);
      expect(stateOf(opened)).toEqual(before);
      // Each of these asks; the command in the cluster reads there.
      expect(new Set(writesSince(opened, asked))).toEqual(
        new Set(['POST exportTemplate', 'POST whatIf', 'POST runCommand']),
      );
    });

    test('it brings code, image and defaults of its version, and keeps what was chosen', async () => {
      const { code, out, err } = await opened.type(upgrade);
      expect(err).not.toContain('✗');
      expect(out).toContain('Nodewright is deployed for sandbox.');
      expect(code).toBe(0);
      expect(codes()).toEqual([digestOf('2.0.0')]);
      expect(images().map(([name]) => name)).toEqual([
        `nodewright-relay:${OLDER}`,
        `nodewright-relay:${versionOf(root)}`,
      ]);
      expect(deployed()).toMatchObject({ currency: 'EUR', createAlerts: false, instanceMemoryMB: 2048 });
      expect(opened.azure.management.inCluster.values).toMatchObject({
        image: { pullPolicy: 'Always', tag: versionOf(root), digest: images().at(-1)?.[1] },
        tolerations: [{ key: 'dedicated' }],
      });
    });

    test('typed again it changes nothing that is there', async () => {
      const before = stateOf(opened);
      const { code, out, err } = await opened.type(upgrade);
      expect(`${out}${err}`).not.toContain('✗');
      expect(code).toBe(0);
      expect(stateOf(opened)).toEqual(before);
    });

    test('the older version brings itself back, and status says that it works', async () => {
      const back = [join(older, 'cli/bin.js'), ...upgrade.slice(1, -1), join(opened.folder, 'app-1.0.0.zip')];
      const { code, err } = await opened.type(back);
      expect(err).not.toContain('✗');
      expect(code).toBe(0);
      expect(codes()).toEqual([digestOf('1.0.0')]);
      expect(deployed()).toMatchObject({ currency: 'EUR', createAlerts: false });
      expect(opened.azure.management.inCluster.values).toMatchObject({
        image: { pullPolicy: 'Always', tag: OLDER },
        tolerations: [{ key: 'dedicated' }],
      });
      const status = await opened.type([command, 'status', '--cluster', opened.clusterId]);
      expect([status.err, status.code]).toEqual(['', 0]);
    });

    test('no request of it went where nobody answers', () => {
      expect(opened.requests().filter(({ unmapped, status }) => unmapped === true || status === 502)).toEqual([]);
    });
  },
);

/** This checkout under an older version, whose template has another default. */
function olderVersion(folder: string): string {
  const home = join(folder, 'older');
  mkdirSync(home);
  for (const path of ['.dockerignore', 'cli', 'examples', 'infra', 'relay', 'shared', 'package.json']) {
    cpSync(join(root, path), join(home, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'));
  replaceIn(join(home, 'package.json'), `"version": "${versionOf(root)}"`, `"version": "${OLDER}"`);
  replaceIn(join(home, 'infra/main.bicep'), 'instanceMemoryMB int = 2048', `instanceMemoryMB int = ${OLDER_MEMORY_MB}`);
  replaceIn(join(home, 'infra/main.parameters.json'), 'MEMORY_MB=2048}', `MEMORY_MB=${OLDER_MEMORY_MB}}`);
  return home;
}

function replaceIn(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
  writeFileSync(file, text.replace(from, to));
}
