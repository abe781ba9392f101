import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAzure } from '../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../sandbox/azure/running-azure.ts';
import { azureDefaults } from '../../../sandbox/azure/state/options.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { removalOutputs } from '../../../infra/hooks/outside.ts';
import { writeFakeAz } from './fake-az.ts';

const root = resolve(import.meta.dirname, '../../..');
const { subscriptionId, clusterResourceGroup, clusterName } = azureDefaults;
const clusterId = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;

/** As Resource Manager answers: letters of names are not kept. */
const outputs = Object.fromEntries(
  Object.entries({
    ...Object.fromEntries(removalOutputs.map((name) => [name, ''])),
    AZURE_RESOURCE_GROUP: `rg-nodewright-${clusterName}`,
    AZURE_SUBSCRIPTION_ID: subscriptionId,
    FUNCTION_APP_NAME: 'func-nodewright-abc',
    FUNCTIONS_PRINCIPAL_ID: 'f',
    RELAY_CLIENT_ID: 'r',
    CLUSTER_NAME: clusterName,
    CLUSTER_RESOURCE_GROUP: clusterResourceGroup,
    NODE_RESOURCE_GROUP: 'MC',
    SERVICE_BUS_NAMESPACE: 'bus.servicebus.windows.net',
    BLOB_SERVICE_URI: 'https://data.blob.core.windows.net/',
    REGISTRY_NAME: 'registry',
    RELAY_NAMESPACE: 'nodewright-system',
    ROLE_SUFFIX: `${clusterName}-abcdefghijklm`,
  }).map(([name, value]) => [`${name[0]?.toLowerCase()}${name.slice(1)}`, { value }]),
);

/** The app, for whoever asks for its health with its key. */
const APP = `const real = globalThis.fetch;
globalThis.fetch = async (url, options) => {
  if (url !== 'https://app.example.com/api/health') return real(url, options);
  const isKnown = options.headers['x-functions-key'] === 'key-of-the-app';
  return isKnown ? Response.json({ isReady: true, problems: [], snapshotAgeMs: 4000 }) : new Response('', { status: 401 });
};`;

/** The command as a process, with an az that asks the double. */
describe('nodewright deploy, as a process', () => {
  let azure: Azure;
  let folder: string;
  let calls: string;

  beforeAll(async () => {
    azure = await startAzure({ ...azureDefaults, port: 0, clock: systemClock, rng: rngFrom('deploy') });
    folder = mkdtempSync(join(tmpdir(), 'nodewright-deploy-'));
    ({ calls } = writeFakeAz(folder, azure.endpoint, subscriptionId));
    writeFileSync(join(folder, 'app.mjs'), APP);
    writeFileSync(join(folder, 'app.zip'), '');
  });
  afterAll(async () => {
    await azure.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const type = (
    args: ReadonlyArray<string>,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }> =>
    new Promise((done) => {
      const { PATH = '' } = process.env;
      const env = {
        PATH: `${folder}${delimiter}${PATH}`,
        NODE_OPTIONS: `--import ${join(folder, 'app.mjs')}`,
        AZ_CLUSTER: JSON.stringify({ aadProfile: { managed: true }, linuxProfile: null }),
        AZ_OUTPUTS: JSON.stringify(outputs),
        ...environment,
      };
      // The folder is not the repository: the command works from any.
      execFile(process.execPath, [join(root, 'cli/bin.js'), ...args], { env, cwd: folder }, (error, out, err) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });
  const deploy = ['deploy', '--cluster', clusterId, '--app-zip', 'app.zip'];
  const callsSoFar = (): ReadonlyArray<string> =>
    readFileSync(calls, { encoding: 'utf8', flag: 'a+' })
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { readonly args: ReadonlyArray<string> }).args.join(' '));

  test('--dry-run asks Azure, and changes nothing', async () => {
    const AZ_CHANGES = JSON.stringify([
      { changeType: 'Create', resourceId: `/subscriptions/${subscriptionId}/resourceGroups/rg-nodewright-x` },
      { changeType: 'Create', resourceId: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/func' },
    ]);
    const before = callsSoFar().length;
    const { code, out, err } = await type([...deploy, '--dry-run'], { AZ_NOTHING: '1', AZ_CHANGES });
    expect(err).toBe('');
    expect(out).toContain('would make 2: resourceGroups, sites');
    expect(out).toContain('Nothing was changed.');
    expect(code).toBe(0);
    const asked = callsSoFar().slice(before);
    expect(
      asked.filter((one) =>
        /(sub|assignment) create|aks update|acr build|helm (upgrade|uninstall)|config-zip|delete/.test(one),
      ),
    ).toEqual([]);
    expect(asked.find((one) => one.startsWith('deployment sub what-if'))).toContain(
      `--name nodewright-${clusterName} `,
    );
  });

  test('deploys; a refusal stops it at its step, and the same typed again goes to the end', async () => {
    const stopped = await type(deploy, { AZ_NOTHING: '1', AZ_REFUSES: '^functionapp deployment' });
    expect(stopped.code).toBe(1);
    expect(stopped.err).toContain('✗ step 5 of 6, the app’s code is sent: cannot send the code to func-nodewright-abc');
    expect(stopped.err).toContain(`nodewright deploy --cluster ${clusterId} --app-zip app.zip`);
    const before = callsSoFar().length;
    const { code, out, err } = await type(deploy);
    expect(err).toBe('');
    expect(out).toContain('✓ the relay was heard 4 s ago');
    expect(out).toContain('✓ nothing to decide: there is no NodePool yet');
    expect(out).not.toContain('key-of-the-app');
    expect(code).toBe(0);
    const made = callsSoFar()
      .slice(before)
      .filter((one) => /^(deployment sub create|acr build|functionapp deployment)|helm upgrade/.test(one));
    expect(made.map((one) => one.replace(/ --command .*(helm upgrade).*/, ' $1').split(' --')[0])).toEqual([
      'deployment sub create',
      'acr build',
      'aks command invoke',
      'functionapp deployment source config-zip',
    ]);
    expect(made.at(-1)).toContain(`--src ${join(folder, 'app.zip')}`);
  });

  test('Ctrl-C ends what az does, and the command says where it stopped', async () => {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [join(root, 'cli/bin.js'), ...deploy], {
      env: {
        PATH: `${folder}${delimiter}${PATH}`,
        AZ_CLUSTER: JSON.stringify({ aadProfile: { managed: true }, linuxProfile: null }),
        AZ_OUTPUTS: JSON.stringify(outputs),
        AZ_HANGS: '^deployment sub create',
      },
      cwd: folder,
      // A terminal sends the signal to the whole group.
      detached: true,
    });
    let said = '';
    const hears = (text: string): void => {
      said += text;
    };
    child.stdout.setEncoding('utf8').on('data', hears);
    child.stderr.setEncoding('utf8').on('data', hears);
    const ended = once(child, 'close');
    const before = callsSoFar().length;
    const isAtWork = (): boolean =>
      callsSoFar()
        .slice(before)
        .some((one) => one.startsWith('deployment sub create'));
    await expect.poll(isAtWork, { timeout: 60_000 }).toBe(true);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const [code] = (await ended) as [number];
    expect(said).toContain(
      '✗ step 3 of 6, infrastructure: cannot deploy the infrastructure: az says "az deployment sub create was ended by SIGINT"',
    );
    expect(said).toContain('To go on, type the same again:');
    expect(code).toBe(1);
  });

  test('status and uninstall work on the same deployment', async () => {
    const status = await type(['status', '--cluster', clusterId]);
    expect(status.err).toBe('');
    expect(status.out).toContain('✓ the app can do its work');
    expect(status.code).toBe(0);
    const alone = await type(['uninstall', '--cluster', clusterId]);
    expect(alone.err).toContain('nobody is there to be asked: type the same with --yes');
    expect(alone.code).toBe(2);
    const { code, out, err } = await type(['uninstall', '--cluster', clusterId, '--yes'], {
      AZ_LOOK: 'No resources found',
    });
    expect(err).toBe('');
    expect(out).toContain('Nodewright is removed.');
    expect(code).toBe(0);
    expect(callsSoFar().slice(-2)).toEqual([
      `group delete --yes --name rg-nodewright-${clusterName}`,
      `deployment sub delete --name nodewright-${clusterName}`,
    ]);
  });

  test('a name in place of an id is one line, with exit code 2', async () => {
    const { code, out, err } = await type(['deploy', '--cluster', clusterName]);
    expect(err).toBe(
      `nodewright: --cluster: "${clusterName}" is a name, and not an id (az aks list --query "[?name=='${clusterName}'].id" --output tsv prints it)\n`,
    );
    expect(out).toBe('');
    expect(code).toBe(2);
  });
});
