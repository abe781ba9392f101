import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAzure } from '../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../sandbox/azure/running-azure.ts';
import { azureDefaults } from '../../../sandbox/azure/state/options.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { writeFakeAz } from './fake-az.ts';

const root = resolve(import.meta.dirname, '../../..');
const { subscriptionId, clusterResourceGroup, clusterName } = azureDefaults;
const clusterId = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`;
const guide = readFileSync(join(root, 'docs/deploy.md'), 'utf8');

/** What the guide has typed, in order: indented lines of a section. */
function typed(from: string, to: string): ReadonlyArray<string> {
  const section = guide.slice(guide.indexOf(from), guide.indexOf(to));
  return section.split('\n').flatMap((line) => (/^ {4}\S/.test(line) ? [line.trim()] : []));
}

/** They ask the package registry and build; other tests do that (`test/e2e/commands/bundle.test.ts`). */
const NOT_HERE: ReadonlySet<string> = new Set(['npm ci', 'npm run pack']);

/** As Resource Manager answers: letters of names are not kept. */
const outputs = {
  azurE_RESOURCE_GROUP: 'rg-nodewright-production',
  functioN_APP_NAME: 'func-nodewright-abc',
  functionS_PRINCIPAL_ID: 'principal-of-functions',
  relaY_CLIENT_ID: 'client-of-relay',
  clusteR_NAME: clusterName,
  clusteR_RESOURCE_GROUP: clusterResourceGroup,
  servicE_BUS_NAMESPACE: 'bus.servicebus.windows.net',
  bloB_SERVICE_URI: 'https://data.blob.core.windows.net/',
  registrY_NAME: 'registry',
  relaY_NAMESPACE: 'nodewright-system',
  featurE_GATES: '',
};

/** The guide, typed line by line into a shell whose az asks the double where that can answer. */
describe('the walk through docs/deploy.md without azd', () => {
  let azure: Azure;
  let folder: string;
  let calls: string;

  beforeAll(async () => {
    azure = await startAzure({ ...azureDefaults, port: 0, clock: systemClock, rng: rngFrom('walk') });
    folder = mkdtempSync(join(tmpdir(), 'nodewright-walk-'));
    ({ calls } = writeFakeAz(folder, azure.endpoint, subscriptionId));
  });
  afterAll(async () => {
    await azure.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const type = (lines: ReadonlyArray<string>): Promise<{ readonly code: number; readonly said: string }> =>
    new Promise((done) => {
      const { PATH = '', HOME = '' } = process.env;
      const lacking = { aadProfile: { managed: true }, linuxProfile: { ssh: { publicKeys: [{}] } } };
      const env = {
        PATH: `${folder}${delimiter}${PATH}`,
        HOME,
        AZ_CLUSTER: JSON.stringify(lacking),
        AZ_OUTPUTS: JSON.stringify(
          Object.fromEntries(Object.entries(outputs).map(([name, value]) => [name, { value }])),
        ),
      };
      execFile('sh', ['-ec', lines.join('\n')], { env, cwd: root }, (error, out, err) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1), said: `${out}${err}` });
      });
    });

  test('goes through, and tells Azure at each step what the step before has made', async () => {
    const lines = typed('## Without azd', '`npm run relay` runs these').filter((line) => !NOT_HERE.has(line));
    expect(lines).toHaveLength(7);
    const filled = lines.map((line) =>
      line
        .replace(/\bCLUSTER_ID(?= )/, clusterId)
        .replace('--subscription SUBSCRIPTION', `--subscription ${subscriptionId}`),
    );
    const { code, said } = await type(filled);
    expect(said).not.toMatch(/✗/);
    expect(code).toBe(0);
    const asked = readFileSync(calls, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly args: ReadonlyArray<string> }).args.join(' '))
      .filter((words) => !words.startsWith('rest '));
    expect(asked.map((words) => words.replace(/ --command .*/, ''))).toEqual([
      `account set --subscription ${subscriptionId}`,
      'account show',
      `aks command invoke --resource-group ${clusterResourceGroup} --name ${clusterName}`,
      'functionapp list-flexconsumption-locations',
      'deployment sub create --name nodewright --location westeurope --parameters infra/by-hand/nodewright.bicepparam',
      'deployment sub show --name nodewright',
      `aks command invoke --resource-group ${clusterResourceGroup} --name ${clusterName}`,
      'acr show --name registry',
      expect.stringMatching(/^acr build --registry registry --image nodewright-relay:/),
      expect.stringMatching(/^acr repository show --name registry --image nodewright-relay:/),
      `aks command invoke --resource-group ${clusterResourceGroup} --name ${clusterName}`,
      'functionapp deployment source config-zip --resource-group rg-nodewright-production --name func-nodewright-abc --src dist/app.zip',
    ]);
    const install = readFileSync(calls, 'utf8')
      .split('\n')
      .find((line) => line.includes('helm upgrade'));
    expect(JSON.parse(install ?? '{}')).toMatchObject({ sent: { functions: { objectId: 'principal-of-functions' } } });
    expect(existsSync(join(root, 'infra/by-hand/nodewright.bicepparam'))).toBe(true);
    expect(said).toContain('kubectl apply -f examples/general-purpose.yaml');
  });

  test('stops where a step fails', async () => {
    const wrong = ['NODEWRIGHT_CLUSTER_ID=nonsense npm run preflight', 'az account set --subscription later'];
    const { code, said } = await type(wrong);
    expect(said).toContain('nonsense is not the id of an AKS cluster');
    expect(code).not.toBe(0);
    expect(readFileSync(calls, 'utf8')).not.toContain('later');
  });
});
