import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outputsOf } from '../../../infra/hooks/render-exports.ts';
import { type OpenAzure, openAzure } from '../../kit/azure-cli/open-azure.ts';
import { run } from '../../kit/azure-cli/run.ts';
import { titleOf, tools } from '../../kit/azure-cli/tell.ts';

const root = resolve(import.meta.dirname, '../../..');

/** az is started some twenty times, which takes a busy machine two minutes. */
const PATIENT = { timeout: 900_000 };

/**
 * The hooks of azure.yaml in the order in which azd runs them, on the real az. azd itself is a word that notes what it
 * is told: what it does between them, az does here with the template and the parameters that azd would send.
 */
describe.skipIf(tools === null)(titleOf('azd’s hooks, through the real az to a double of Azure'), PATIENT, () => {
  let opened: OpenAzure;
  let environment: Record<string, string>;

  beforeAll(async () => {
    if (tools === null) return;
    opened = await openAzure(tools, { seed: 'hooks', cluster: 'ready' });
    opened.azure.management.cloud.clusterProperties = { aadProfile: { managed: true } };
    environment = { NODEWRIGHT_CLUSTER_ID: opened.clusterId, AZURE_ENV_NAME: 'production' };
  });
  afterAll(() => opened?.close());

  const hook = (name: string, ...args: ReadonlyArray<string>): ReturnType<OpenAzure['type']> =>
    opened.type([join(root, 'infra/hooks', name), ...args], environment);
  const az = async (...args: ReadonlyArray<string>): Promise<unknown> => {
    const place = { cwd: opened.folder, environment: opened.environment };
    const { code, out, err } = await run('az', [...args, '--only-show-errors', '--output', 'json'], place);
    expect(code, err).toBe(0);
    return JSON.parse(out) as unknown;
  };

  test('preflight finds nothing to mend, and hands azd what it has found', async () => {
    const { code, out, err } = await hook('preflight.ts');
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out).toContain('✓ rights-in-cluster: you may install the chart');
    for (const line of opened.azdCalls()) {
      const [, name = '', value = ''] = /^env set (\S+) (.+) --environment production$/.exec(line) ?? [];
      environment[name] = value;
    }
    expect(Object.keys(environment)).toEqual(
      expect.arrayContaining(['NODEWRIGHT_NODE_SUBNET_ID', 'NODEWRIGHT_SSH_PUBLIC_KEY', 'NODEWRIGHT_VNET_GUID']),
    );
  });

  test('the template takes what the preflight has found, and its outputs come back', async () => {
    const parameters = {
      environmentName: 'production',
      location: 'westeurope',
      clusterResourceId: opened.clusterId,
      nodeSubnetResourceId: environment['NODEWRIGHT_NODE_SUBNET_ID'],
      virtualNetworkGuid: environment['NODEWRIGHT_VNET_GUID'],
      sshPublicKey: environment['NODEWRIGHT_SSH_PUBLIC_KEY'],
    };
    const said = Object.entries(parameters).map(([name, value]) => `${name}=${value}`);
    const place = [
      '--name',
      'nodewright',
      '--location',
      'westeurope',
      '--template-file',
      join(root, 'infra/main.bicep'),
    ];
    const deployed = await az('deployment', 'sub', 'create', ...place, '--parameters', ...said);
    Object.assign(environment, outputsOf(deployed));
    const { code, out } = await hook('outputs.ts', 'nodewright');
    expect(out).toContain(`export ROLE_SUFFIX='${environment['ROLE_SUFFIX']}'`);
    expect(code).toBe(0);
  });

  test('a parameter that the template has not is refused before anything is made', async () => {
    const place = ['--name', 'other', '--location', 'westeurope', '--template-file', join(root, 'infra/main.bicep')];
    const args = ['deployment', 'sub', 'create', ...place, '--parameters', 'clusterId=x'];
    const { code, err } = await run('az', args, { cwd: opened.folder, environment: opened.environment });
    expect(err).toContain('clusterId');
    expect(code).not.toBe(0);
    expect([...opened.azure.management.deployments.keys()]).toEqual(['nodewright']);
  });

  test('relay builds the image and installs the chart with it', async () => {
    const { code, out, err } = await hook('relay.ts');
    expect(`${out}${err}`).not.toContain('✗');
    expect(code).toBe(0);
    const { inCluster, registries } = opened.azure.management;
    expect(inCluster.isInstalled).toBe(true);
    const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string })
      .version;
    expect([...registries.values()].flatMap(({ images }) => [...images.keys()])).toEqual([
      `nodewright-relay:${version}`,
    ]);
  });

  test('next says what to type', async () => {
    const { code, out } = await hook('next-steps.ts');
    expect(out).toContain('az aks get-credentials --resource-group nodewright --name sandbox');
    expect(code).toBe(0);
  });

  test('removal stops azd down, and with --yes removes all that was made', async () => {
    const stopped = await hook('removal.ts');
    expect(stopped.err).toContain('azd down is stopped');
    expect(stopped.code).toBe(1);
    const { code, err } = await hook('removal.ts', '--yes');
    expect(err).toBe('');
    expect(code).toBe(0);
    const { cloud, inCluster, roleAssignments, roleDefinitions, sites } = opened.azure.management;
    expect([cloud.groups, roleAssignments, roleDefinitions, sites].map(({ size }) => size)).toEqual([0, 0, 0, 0]);
    expect(inCluster.isInstalled).toBe(false);
  });

  test('nothing of it was written into the checkout', () => {
    expect(existsSync(join(root, '.azure/production'))).toBe(false);
  });
});
