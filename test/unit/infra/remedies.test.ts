import { describe, expect, test } from 'vitest';
import type { Answers } from '../../../infra/hooks/answers.ts';
import { judge } from '../../../infra/hooks/checks.ts';
import { remediesOf, renderAz } from '../../../infra/hooks/remedies.ts';
import { CLUSTER_ID, goodAnswers, goodCluster } from '../../kit/infra/azure-answers.ts';

function offered(properties: object, parts: Partial<Answers> = {}): ReadonlyArray<string> {
  const cluster = { ...goodCluster, properties: { ...goodCluster.properties, ...properties } };
  const answers = { ...goodAnswers, cluster, ...parts };
  return remediesOf(answers, judge(answers)).map(({ args }) => renderAz(args));
}

const PLACE = '--resource-group my-group --name my-cluster';
const ADMIN = `az role assignment create --assignee you@example.com --role 'Azure Kubernetes Service RBAC Cluster Admin' --scope ${CLUSTER_ID}`;
const lacking = { inCluster: { kind: 'lacking', what: ['create namespaces'] } } as const;

describe('what is offered to be mended', () => {
  test('nothing where nothing is wrong', () => {
    expect(offered({})).toEqual([]);
  });

  test('all switches of a cluster in one update, as each takes minutes', () => {
    const wrong = { aadProfile: {}, oidcIssuerProfile: { enabled: false }, securityProfile: {} };
    expect(offered(wrong)).toEqual([
      `az aks update ${PLACE} --enable-aad --enable-azure-rbac --enable-oidc-issuer --enable-workload-identity`,
      ADMIN,
    ]);
    expect(offered({ securityProfile: {} })).toEqual([`az aks update ${PLACE} --enable-workload-identity`]);
  });

  test('a cluster that is stopped is started, and one that is being changed is left alone', () => {
    expect(offered({ powerState: { code: 'Stopped' } })).toEqual([`az aks start ${PLACE}`]);
    expect(offered({ provisioningState: 'Updating' })).toEqual([]);
    expect(offered({ provisioningState: 'Updating', powerState: { code: 'Stopped' } })).toEqual([]);
  });

  test('rights in the cluster, where Azure’s roles decide about it and not its own groups', () => {
    expect(offered({ aadProfile: { managed: true, enableAzureRBAC: true } }, lacking)).toEqual([ADMIN]);
    expect(offered({ aadProfile: { managed: true, adminGroupObjectIDs: ['g'] } }, lacking)).toEqual([]);
    // A cluster that does not answer may well give them.
    const refused = { inCluster: { kind: 'refused', why: 'no node' } } as const;
    expect(offered({ aadProfile: { managed: true, enableAzureRBAC: true } }, refused)).toEqual([]);
  });

  test('nothing that replaces nodes, loosens a lock or cannot be undone', () => {
    const wrong = {
      nodeResourceGroupProfile: { restrictionLevel: 'ReadOnly' },
      networkProfile: { networkPlugin: 'kubenet' },
      identityProfile: {},
      nodeProvisioningProfile: { mode: 'Auto' },
      currentKubernetesVersion: '1.29.9',
    };
    expect(offered(wrong)).toEqual([]);
  });

  test('the provider of the functions’ network', () => {
    const registrations = { app: 'NotRegistered', scheduledEvents: '' };
    const wishes = { ...goodAnswers.wishes, functionsSubnetId: '/subscriptions/x/y/subnets/z' };
    expect(offered({}, { registrations, wishes })).toEqual(['az provider register --namespace Microsoft.App --wait']);
  });
});
