import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeAppZip } from '../../kit/azure-cli/app-zip.ts';
import { type OpenAzure, openAzure } from '../../kit/azure-cli/open-azure.ts';
import { titleOf, tools } from '../../kit/azure-cli/tell.ts';
import { stateOf, writesSince } from './state.ts';

const command = join(resolve(import.meta.dirname, '../../..'), 'cli/bin.js');

/** az is started some thirty times in a deployment, which takes a busy machine three minutes. */
const PATIENT = { timeout: 900_000 };

/** A newcomer's questions, and what is typed: docs/deploy.md says the same. */
const QUESTIONS_MAX = 2;

describe.skipIf(tools === null)(titleOf('nodewright, through the real az to a double of Azure'), PATIENT, () => {
  let opened: OpenAzure;
  let deploy: ReadonlyArray<string>;

  beforeAll(async () => {
    if (tools === null) return;
    opened = await openAzure(tools, { seed: 'newcomer', cluster: 'plain' });
    deploy = [command, 'deploy', '--cluster', opened.clusterId, '--app-zip', writeAppZip(opened.folder)];
  });
  afterAll(() => opened?.close());

  test('status of a cluster that has nothing says so', async () => {
    const { code, err } = await opened.type([command, 'status', '--cluster', opened.clusterId]);
    expect(err).toContain('✗ nothing is deployed for this cluster');
    expect(code).toBe(1);
  });

  test('--dry-run says each step and what it would change, and changes nothing', async () => {
    const before = stateOf(opened);
    const asked = opened.requests().length;
    const { code, out, err } = await opened.type([...deploy, '--dry-run']);
    expect(err).toBe('');
    expect(out).toContain('az aks update --resource-group');
    expect(out).toContain('would make 2: resourceGroups, sites');
    expect(out).toContain('Nothing was changed.');
    expect(code).toBe(0);
    expect(stateOf(opened)).toEqual(before);
    expect(writesSince(opened, asked)).toEqual(['POST whatIf']);
  });

  test('a cluster as `az aks create` makes it takes one command, and two questions', async () => {
    const { code, screen, questions } = await opened.typeAtTerminal(deploy);
    expect(screen).toContain('Nodewright is deployed for sandbox.');
    expect(screen).toContain('✓ the app can do its work');
    expect(code).toBe(0);
    expect(questions.length).toBeGreaterThan(0);
    expect(questions.length).toBeLessThanOrEqual(QUESTIONS_MAX);
    const { management } = opened.azure;
    expect([...management.sites.values()].every(({ codeBytes }) => codeBytes > 0)).toBe(true);
    expect(management.inCluster.isInstalled).toBe(true);
    expect(management.cloud.clusterProperties).toMatchObject({
      aadProfile: { managed: true, enableAzureRBAC: true },
      oidcIssuerProfile: { enabled: true },
      securityProfile: { workloadIdentity: { enabled: true } },
    });
  });

  test('the same command typed again asks nothing, and changes nothing that is there', async () => {
    const before = stateOf(opened);
    const { code, out, err } = await opened.type(deploy);
    expect(`${out}${err}`).not.toContain('✗');
    expect(code).toBe(0);
    expect(stateOf(opened)).toEqual(before);
  });

  test('status says that it works', async () => {
    const { code, out, err } = await opened.type([command, 'status', '--cluster', opened.clusterId]);
    expect(err).toBe('');
    expect(out).toContain('✓ the relay was heard 4 s ago');
    expect(code).toBe(0);
  });

  test('uninstall takes away all that was made, with the nodes first', async () => {
    const { inCluster, cloud } = opened.azure.management;
    inCluster.objects = [
      'nodepool.karpenter.sh/general',
      'nodeclaim.karpenter.sh/general-1',
      'aksnodeclass.karpenter.azure.com/default',
    ];
    const uninstall = [command, 'uninstall', '--cluster', opened.clusterId, '--yes'];
    // The last step fails, when the app's identity is gone with its group: az does not find it by its name any more.
    opened.azure.orderFault({
      method: 'DELETE',
      pathContains: '/providers/Microsoft.Resources/deployments/',
      times: 1,
      fault: { kind: 'refuse', status: 409, code: 'Conflict', message: 'it is in use', retryAfterSeconds: null },
    });
    const stopped = await opened.type(uninstall);
    expect(stopped.err).toContain('✗ step 2 of 2, what Azure remembers of the deployment: cannot forget');
    expect(stopped.err).toContain('Conflict: it is in use');
    expect(stopped.code).toBe(1);
    const { code, out, err } = await opened.type(uninstall);
    expect(err).toBe('');
    expect(out).toContain('Nodewright is removed.');
    expect(code).toBe(0);
    expect(inCluster.objects).toEqual([]);
    // The deployer stays an administrator, and the cluster as it was changed.
    expect(stateOf(opened)).toEqual({
      groups: [],
      cluster: cloud.clusterProperties,
      deployments: [],
      identities: [],
      roles: [expect.stringContaining('/managedclusters/sandbox/')],
      topics: [],
      sites: [],
      images: [],
      chart: false,
      values: null,
    });
  });

  test('no request of it went where nobody answers', () => {
    expect(opened.requests().filter(({ unmapped, status }) => unmapped === true || status === 502)).toEqual([]);
  });
});
