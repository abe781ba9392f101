import { describe, expect, test } from 'vitest';
import type { Ask, AzAnswer } from '../../../infra/hooks/az.ts';
import { removalOutputs } from '../../../infra/hooks/outside.ts';
import { remove, wordsOf } from '../../../infra/hooks/remove.ts';

const known: Readonly<Record<string, string>> = {
  ...Object.fromEntries(removalOutputs.map((name) => [name, ''])),
  AZURE_RESOURCE_GROUP: 'own',
  AZURE_SUBSCRIPTION_ID: 's',
  CLUSTER_NAME: 'my-cluster',
  CLUSTER_RESOURCE_GROUP: 'my-group',
  FUNCTIONS_PRINCIPAL_ID: 'f',
  KUBELET_IDENTITY_ID:
    '/subscriptions/s/resourceGroups/MC/providers/Microsoft.ManagedIdentity/userAssignedIdentities/k',
  NODE_RESOURCE_GROUP: 'MC',
  NODE_SUBNET_ID: '/subscriptions/s/resourceGroups/MC/providers/Microsoft.Network/virtualNetworks/v/subnets/n',
  RELAY_NAMESPACE: 'nodes',
  ROLE_SUFFIX: 'production-abc',
};

/** Asked and answered by a cluster whose objects go after so many looks, and by an Azure that answers as it is told. */
function removing(looks: Readonly<Record<string, number>>, other: (words: string) => AzAnswer | null = () => null) {
  const asked: Array<string> = [];
  const left = new Map(Object.entries(looks));
  let nowMs = 0;
  const ask: Ask = (args) => {
    const words = args.join(' ');
    asked.push(words);
    const said = other(words);
    if (said !== null) return said;
    const [, kinds = ''] = /kubectl get (\S+)/.exec(words) ?? [];
    const still = left.get(kinds) ?? 0;
    left.set(kinds, still - 1);
    const logs = still > 0 ? `${kinds.split(',').at(-1)}.karpenter.sh/one\n` : 'No resources found\n';
    return { kind: 'answer', value: { exitCode: 0, logs } };
  };
  const sleep = (ms: number): void => {
    nowMs += ms;
  };
  const run = (environment: Readonly<Record<string, string | undefined>> = known): void =>
    remove(environment, { ask, say: () => undefined, now: () => nowMs, sleep });
  return { asked, run };
}

const inCluster = (words: string): boolean =>
  words.startsWith('aks command invoke --resource-group my-group --name my-cluster ');

describe('removing a deployment', () => {
  test('goes from the nodes to the group, and each waits for the one before', () => {
    const { asked, run } = removing({ 'nodepools,nodeclaims': 2, aksnodeclasses: 1 });
    run();
    const steps = asked.map((words) =>
      words
        .replace(/.* --command /, '')
        .replace(/^((?:\S+ ){3}).*/, '$1')
        .trim(),
    );
    expect(steps).toEqual([
      'kubectl delete nodepools',
      'kubectl get nodepools,nodeclaims',
      'kubectl get nodepools,nodeclaims',
      'kubectl get nodepools,nodeclaims',
      'kubectl delete aksnodeclasses',
      'kubectl get aksnodeclasses',
      'kubectl get aksnodeclasses',
      'helm uninstall nodewright',
      ...Array.from({ length: 4 }, () => ['role assignment delete', 'role definition delete']).flat(),
      'group delete --yes',
    ]);
    expect(asked.filter((words) => /kubectl|helm/.test(words)).every(inCluster)).toBe(true);
    expect(asked.find((words) => words.includes('helm'))).toContain('--namespace nodes');
    expect(asked.at(-1)).toBe('group delete --yes --name own');
  });

  test('stops where nodes do not go, before anything that would keep them from going', () => {
    const { asked, run } = removing({ 'nodepools,nodeclaims': 1000 });
    expect(run).toThrow('nodeclaims.karpenter.sh/one is still there after 30 minutes');
    expect(asked.every((words) => /kubectl (delete nodepools|get)/.test(words))).toBe(true);
    expect(asked.length).toBeLessThan(130);
  });

  test('stops where a node class does not go, while the app that holds it is there', () => {
    const { asked, run } = removing({ aksnodeclasses: 1000 });
    expect(run).toThrow('is still there after 5 minutes');
    expect(asked.some((words) => words.includes('helm') || words.startsWith('group'))).toBe(false);
  });

  test('goes on where something is gone already, so that it can be repeated', () => {
    const gone = (words: string): AzAnswer | null =>
      words.startsWith('role') ? { kind: 'refused', message: 'ERROR: (RoleAssignmentNotFound) was not found' } : null;
    const { asked, run } = removing({}, gone);
    run();
    expect(asked.at(-1)).toBe('group delete --yes --name own');
  });

  test('takes nothing for gone that Azure does not find once', () => {
    let misses = 1;
    const lagging = (words: string): AzAnswer | null =>
      words.startsWith('group delete') && misses-- > 0
        ? { kind: 'refused', message: "ERROR: (ResourceGroupNotFound) Resource group 'own' could not be found." }
        : null;
    const { asked, run } = removing({}, lagging);
    run();
    expect(asked.filter((words) => words.startsWith('group delete'))).toHaveLength(2);
  });

  test('does not take a subscription that is not seen for one that is empty', () => {
    const unseen = (words: string): AzAnswer | null =>
      words.startsWith('role') ? { kind: 'refused', message: 'ERROR: (SubscriptionNotFound) was not found' } : null;
    const { asked, run } = removing({}, unseen);
    expect(run).toThrow('does not see the subscription');
    expect(asked.some((words) => words.startsWith('group'))).toBe(false);
  });

  test('leaves the group alone where a step before it is refused', () => {
    const denied = (words: string): AzAnswer | null =>
      words.startsWith('role definition')
        ? { kind: 'refused', message: "ERROR: (AuthorizationFailed) to perform action 'a/b'" }
        : null;
    const { asked, run } = removing({}, denied);
    expect(run).toThrow('the right a/b is missing');
    expect(asked.some((words) => words.startsWith('group'))).toBe(false);
  });

  test('a cluster without the custom resources has no nodes of ours', () => {
    const none = (words: string): AzAnswer | null =>
      words.includes('kubectl')
        ? { kind: 'answer', value: { exitCode: 1, logs: `error: the server doesn't have a resource type "nodepools"` } }
        : null;
    const { asked, run } = removing({}, none);
    run();
    expect(asked.at(-1)).toBe('group delete --yes --name own');
  });

  test('what the cluster refuses stops it, with its words', () => {
    const refused = (words: string): AzAnswer | null =>
      words.includes('kubectl') ? { kind: 'answer', value: { exitCode: 1, logs: 'forbidden: no' } } : null;
    expect(removing({}, refused).run).toThrow(
      '"kubectl delete nodepools --all --wait=false" ended with 1 in the cluster: forbidden: no',
    );
  });

  test('nothing is asked where the deployment is not known', () => {
    const { asked, run } = removing({});
    expect(() => run({ ...known, ROLE_SUFFIX: undefined })).toThrow('ROLE_SUFFIX is not set');
    expect(asked).toEqual([]);
  });
});

test('a word in quotes is one', () => {
  expect(wordsOf('az role definition delete --name "Nodewright region x" --scope /s')).toEqual([
    'az',
    'role',
    'definition',
    'delete',
    '--name',
    'Nodewright region x',
    '--scope',
    '/s',
  ]);
});
