import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

interface Ended {
  readonly code: number;
  readonly said: string;
}

interface Call {
  readonly args: ReadonlyArray<string>;
  readonly cwd: string;
  /** The chart's values, and the files that were sent along with them. */
  readonly sent: unknown;
  readonly files: ReadonlyArray<string>;
}

/** The hooks as azd runs them, as processes of their own, with an az that asks the double. */
describe('the hooks of azure.yaml', () => {
  let azure: Azure;
  let folder: string;
  let calls: string;

  beforeAll(async () => {
    azure = await startAzure({ ...azureDefaults, port: 0, clock: systemClock, rng: rngFrom('hooks') });
    folder = mkdtempSync(join(tmpdir(), 'nodewright-az-'));
    ({ calls } = writeFakeAz(folder, azure.endpoint, subscriptionId));
  });
  afterAll(async () => {
    await azure.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (hook: string, environment: Readonly<Record<string, string>>): Promise<Ended> =>
    new Promise((done) => {
      const { PATH = '' } = process.env;
      const env = { PATH: `${folder}${delimiter}${PATH}`, ...environment };
      execFile(process.execPath, [join(root, 'infra/hooks', hook)], { env, cwd: root }, (error, out, err) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1), said: `${out}${err}` });
      });
    });
  const callsSince = (count: number): ReadonlyArray<Call> =>
    readFileSync(calls, 'utf8')
      .split('\n')
      .slice(count, -1)
      .map((line) => JSON.parse(line) as Call);
  const callsSoFar = (): number => readFileSync(calls, { encoding: 'utf8', flag: 'a+' }).split('\n').length - 1;

  test('a cluster without Entra ID is refused, with the command that mends it', async () => {
    const { code, said } = await run('preflight.ts', {
      NODEWRIGHT_CLUSTER_ID: clusterId,
      AZ_CLUSTER: '{"aadProfile":null,"linuxProfile":{"ssh":{"publicKeys":[{}]}}}',
    });
    expect(said).toContain('✗ entra-id');
    expect(said).toContain(
      `fix: az aks update --resource-group ${clusterResourceGroup} --name ${clusterName} --enable-aad --enable-azure-rbac, then az role assignment create`,
    );
    expect(said).toMatch(/1 of \d+ checks failed\. Nothing was deployed\./);
    expect(code).toBe(1);
  });

  test('a cluster that lacks nothing passes, and its subnet is found', async () => {
    const lacking = { aadProfile: { managed: true }, linuxProfile: { ssh: { publicKeys: [{}] } } };
    const { code, said } = await run('preflight.ts', {
      NODEWRIGHT_CLUSTER_ID: clusterId,
      AZ_CLUSTER: JSON.stringify(lacking),
    });
    expect(said).not.toMatch(/[✗!] /);
    expect(said).toContain(`param clusterResourceId = '${clusterId}'`);
    expect(said).toMatch(/^param nodeSubnetResourceId = '\/subscriptions\/.+\/subnets\/aks-subnet'$/m);
    expect(code).toBe(0);
  });

  test('an owner who may do nothing in the cluster is told so before anything is made', async () => {
    const { code, said } = await run('preflight.ts', {
      NODEWRIGHT_CLUSTER_ID: clusterId,
      AZ_CAN_I: 'no',
      AZ_CLUSTER: '{"aadProfile":{"managed":true},"linuxProfile":{"ssh":{"publicKeys":[{}]}}}',
    });
    expect(said).toContain(
      '✗ rights-in-cluster: you may not install the chart: in the cluster you lack create namespaces',
    );
    expect(said).toContain(
      `fix: az aks update --resource-group ${clusterResourceGroup} --name ${clusterName} --aad-admin`,
    );
    expect(code).toBe(1);
  });

  test('a cluster without an SSH key gets one into azd’s environment, of which nobody has the private half', async () => {
    const before = callsSoFar();
    const { code, said } = await run('preflight.ts', {
      NODEWRIGHT_CLUSTER_ID: clusterId,
      AZURE_ENV_NAME: 'production',
      AZ_CLUSTER: '{"aadProfile":{"managed":true},"linuxProfile":null}',
    });
    const set = callsSince(before).flatMap(({ args }) => (args[0] === 'env' ? [args] : []));
    expect(set.find(([, , name]) => name === 'NODEWRIGHT_SSH_PUBLIC_KEY')).toEqual([
      'env',
      'set',
      'NODEWRIGHT_SSH_PUBLIC_KEY',
      expect.stringMatching(/^ssh-rsa [A-Za-z0-9+/=]{500,}$/),
      '--environment',
      'production',
    ]);
    expect(said).not.toContain('param ');
    expect(code).toBe(0);
  });

  test('a cluster that is not there is one sentence, and nothing is thrown at the reader', async () => {
    const { code, said } = await run('preflight.ts', { NODEWRIGHT_CLUSTER_ID: `${clusterId}-2` });
    expect(said.trim()).toMatch(
      /^✗ cannot read the cluster: there is no such resource: run az aks list --query \[\]\.id to see the existing clusters \(az says "ResourceNotFound: .+"\)$/,
    );
    expect(code).toBe(1);
  });

  test('without az there is one sentence too', async () => {
    const { code, said } = await run('preflight.ts', { NODEWRIGHT_CLUSTER_ID: clusterId, PATH: '' });
    expect(said.trim()).toBe('✗ the Azure CLI is not installed, or not on the PATH: install az, then run az login');
    expect(code).toBe(1);
  });

  const outputs = {
    CLUSTER_NAME: clusterName,
    CLUSTER_RESOURCE_GROUP: clusterResourceGroup,
    FUNCTIONS_PRINCIPAL_ID: 'f',
    RELAY_CLIENT_ID: 'r',
    SERVICE_BUS_NAMESPACE: 'bus.example.com',
    BLOB_SERVICE_URI: 'https://data.example.com/',
    RELAY_NAMESPACE: 'nodewright-system',
    REGISTRY_NAME: 'registry',
  };

  test('the relay is built, and the chart installed with the digest of that image', async () => {
    const before = callsSoFar();
    const { code, said } = await run('relay.ts', { ...outputs, FEATURE_GATES: 'CapacityBuffer=true' });
    expect(said).not.toContain('✗');
    const [look, , build, digest, invoke] = callsSince(before);
    expect(look?.args.join(' ')).toContain('kubectl get customresourcedefinitions');
    expect(look?.files).toEqual([]);
    expect(build).toMatchObject({ cwd: root });
    expect(build?.args.join(' ')).toMatch(
      /^acr build --registry registry --image nodewright-relay:\d+\.\d+\.\d+ --file /,
    );
    expect(digest?.args.join(' ')).toMatch(/^acr repository show --name registry --image nodewright-relay:/);
    expect(invoke?.args.slice(-2)).toEqual(['--file', '.']);
    expect(invoke?.files).toContain('chart/templates/relay.yaml');
    expect(invoke?.sent).toMatchObject({
      image: { repository: 'registry.example.com/nodewright-relay', digest: `sha256:${'5'.repeat(64)}` },
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      settings: { featureGates: { capacityBuffer: true } },
    });
    expect(code).toBe(0);
  });

  test('custom resources of somebody else stay theirs, and an image for arm64 is built where only that can run', async () => {
    const before = callsSoFar();
    const crd = 'customresourcedefinition.apiextensions.k8s.io';
    const { code, said } = await run('relay.ts', {
      ...outputs,
      AZ_LOOK: [
        `${crd}/nodepools.karpenter.sh`,
        `${crd}/nodeclaims.karpenter.sh`,
        `${crd}/aksnodeclasses.karpenter.azure.com`,
        `${crd}/others.example.com`,
        '---',
        '---',
        'aks-system-0   Ready   <none>   3d   v1.36.3   arm64',
        '',
      ].join('\n'),
    });
    expect(said).toContain(
      '! aksnodeclasses.karpenter.azure.com, nodeclaims.karpenter.sh, nodepools.karpenter.sh: somebody else keeps these',
    );
    expect(said).toContain(
      '! nodeoverlays.karpenter.sh does not exist: kubectl apply -f infra/chart/definitions/karpenter.sh_nodeoverlays.yaml',
    );
    const made = callsSince(before);
    expect(made.find(({ args }) => args[1] === 'build')?.args.join(' ')).toContain('--platform linux/arm64');
    expect(made.at(-1)?.sent).toMatchObject({
      crds: { install: false },
      nodeSelector: { 'kubernetes.io/arch': 'arm64' },
    });
    expect(code).toBe(0);
  });

  test('values of one’s own go along, and those of the deployment count before them', async () => {
    const before = callsSoFar();
    const environment = { ...outputs, NODEWRIGHT_RELAY_IMAGE: 'mine.example.com:5000/relay:2' };
    const { code } = await run('relay.ts', { ...environment, NODEWRIGHT_CHART_VALUES: 'infra/chart/values.yaml' });
    const invoke = callsSince(before).at(-1);
    expect(invoke?.args).toContain(
      'helm upgrade --install nodewright chart --namespace nodewright-system --create-namespace --values own-values.yaml --values deployed-values.json',
    );
    expect(invoke?.files).toContain('own-values.yaml');
    expect(invoke?.sent).not.toHaveProperty('nodeSelector');
    expect(code).toBe(0);
    const missing = await run('relay.ts', { ...environment, NODEWRIGHT_CHART_VALUES: 'infra/nowhere.yaml' });
    expect(missing.said).toContain('✗ NODEWRIGHT_CHART_VALUES names infra/nowhere.yaml, which does not exist');
    expect(missing.code).toBe(1);
  });

  test('a way of installing that there is not is refused by its name', async () => {
    const { code, said } = await run('relay.ts', { ...outputs, NODEWRIGHT_INSTALL: 'Helm' });
    expect(said).toContain('✗ NODEWRIGHT_INSTALL is "Helm": write helm, or nothing');
    expect(code).toBe(1);
  });

  test('the last lines of a deployment say what comes next', async () => {
    const { code, said } = await run('next-steps.ts', outputs);
    expect(said.trim().split('\n').at(-1)).toContain('kubectl get nodepools');
    expect(code).toBe(0);
  });

  test('a chart that cannot be installed fails the hook, although az itself ended well', async () => {
    const { code, said } = await run('relay.ts', { ...outputs, AZ_INVOKE: '1' });
    expect(said).toContain('✗ helm ended with 1 in the cluster: its words are above');
    expect(code).toBe(1);
  });

  test('azd down is stopped, with what to type instead', async () => {
    const { code, said } = await run('removal.ts', {
      AZURE_RESOURCE_GROUP: 'own',
      BUDGET_NAME: 'nodewright-x',
      HEALTH_TOPIC_ID: '',
    });
    expect(said).toContain('azd down is stopped');
    expect(said).toContain('az consumption budget delete --budget-name nodewright-x');
    expect(said).not.toContain('nodewright-health-');
    expect(code).toBe(1);
  });

  test('before anything is deployed the relay’s hook says what is missing', async () => {
    const { code, said } = await run('relay.ts', { CLUSTER_NAME: 'x' });
    expect(said).toContain('is not set: these are outputs of the deployment; run azd provision first');
    expect(code).toBe(1);
  });
});
