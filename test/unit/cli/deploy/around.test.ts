import { describe, expect, test } from 'vitest';
import { renderDecision } from '../../../../cli/deploy/first-look.ts';
import { renderChanges } from '../../../../cli/deploy/what-would.ts';
import { removalOutputs } from '../../../../infra/hooks/outside.ts';
import { CLUSTER_ID } from '../../../kit/infra/azure-answers.ts';
import { newcomer, optionsOf, ready, type } from '../../../kit/cli/fake-azure.ts';

const changing =
  /^(az acr|npm|aks (update|start)|role assignment|deployment sub (create|delete)|functionapp deployment|group)|helm (upgrade|uninstall)/;

describe('--dry-run', () => {
  test('prints each step and what it would change, and changes nothing', async () => {
    const world = ready();
    const { code, said, requests } = await type(world, optionsOf({ isDry: true }));
    expect(code).toBe(0);
    expect(said.match(/^\[\d\/6\]/gm)).toHaveLength(6);
    expect(said).toContain('would make 2: resourceGroups, sites');
    expect(said).toContain('would build the relay’s image in the registry');
    expect(said).toMatch(/would make \d custom resource definitions that the cluster does not have/);
    expect(said).toMatch(/would send .*dist\/app\.zip to the app that is made/);
    expect(said).toContain('Nothing was changed.');
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
    expect(world.record).toBe(null);
  });

  test('says what it would ask for, and asks nothing', async () => {
    const { code, said, requests, questions } = await type(newcomer(), optionsOf({ isDry: true }));
    expect(questions).toEqual([]);
    expect(said).toContain('would ask, and then change the cluster:');
    expect(said).toContain(
      'az aks update --resource-group my-group --name my-cluster --enable-aad --enable-azure-rbac',
    );
    expect(said).toContain('! the cluster was not asked what it has');
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
    expect(code).toBe(0);
  });

  test('ends with 1 where Azure would refuse the template', async () => {
    const { code, said } = await type(ready(), optionsOf({ isDry: true }), {
      mishap: (request) => (request.startsWith('deployment sub what-if') ? 'refused' : null),
    });
    expect(code).toBe(1);
    expect(said).toContain('cannot ask Azure what the template would change');
  });
});

test('changes are counted by what they are of, and what stays is one number', () => {
  const of = (changeType: string, path: string) => ({
    changeType,
    resourceId: `/subscriptions/s/resourceGroups/g${path}`,
  });
  expect(
    renderChanges([
      of('Create', '/providers/Microsoft.Storage/storageAccounts/a/blobServices/default'),
      of('Create', '/providers/Microsoft.ServiceBus/namespaces/n/queues/a'),
      of('Create', '/providers/Microsoft.ServiceBus/namespaces/n/queues/b'),
      of('Modify', ''),
      of('NoChange', '/providers/Microsoft.Web/sites/a'),
      of('Ignore', '/providers/Microsoft.Web/sites/b'),
    ]),
  ).toEqual([
    'would make 3: namespaces/queues ×2, storageAccounts/blobServices',
    'would change 1: resourceGroups',
    '2 stay as they are',
  ]);
  expect(renderChanges([])).toEqual(['nothing']);
});

describe('again', () => {
  test('what was chosen once stays until it is chosen otherwise, and keys and places stay the same', async () => {
    const world = ready();
    await type(world, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'EUR', NODEWRIGHT_DISRUPTION: 'off' } });
    const first = world.record?.parameters;
    expect(first).toMatchObject({
      environmentName: { value: 'my-cluster' },
      location: { value: 'westeurope' },
      clusterResourceId: { value: CLUSTER_ID },
      currency: { value: 'EUR' },
      instanceMemoryMB: { value: 2048 },
      azureEvents: { value: true },
      sshPublicKey: { value: expect.stringMatching(/^ssh-rsa /) as string },
      settings: { value: { DISRUPTION: 'off', FEATURE_GATES: '' } },
    });
    await type(world, optionsOf());
    expect(world.record?.parameters).toEqual(first);
    await type(world, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'CHF', NODEWRIGHT_DISRUPTION: '' } });
    expect(world.record?.parameters).toMatchObject({
      currency: { value: 'CHF' },
      settings: { value: { DISRUPTION: 'on' } },
    });
  });

  test('says that it is there, and since when', async () => {
    const world = ready();
    await type(world, optionsOf());
    const { said } = await type(world, optionsOf());
    expect(said).toContain('deployment nodewright-my-cluster: there since 2026-11-26T01:05:00Z (Succeeded)');
  });
});

describe('a first look', () => {
  test('an app that does not come to work ends it with what keeps it, within a quarter of an hour', async () => {
    const { code, said, requests } = await type(ready({ healthAfter: 1_000 }), optionsOf());
    expect(code).toBe(1);
    expect(said).toContain(
      'step 6 of 6, a first look: everything is deployed, and does not work yet: the relay has published nothing yet',
    );
    expect(said).toContain(`nodewright status --cluster ${CLUSTER_ID} looks again`);
    expect(said.match(/waits: the relay has published nothing/g)).toHaveLength(1);
    expect(requests.filter((one) => one.startsWith('https')).length).toBeLessThan(60);
  });

  const none = 'No resources found\n';
  const pools = 'nodepool.karpenter.sh/general\n';
  const pods = 'default   web-1   0/1   Pending   0   5s\n';
  const event = 'default   5s   Warning   FailedScheduling   pod/web-1   no instance type has 900 cores\n';
  test.for([
    [['', none, none, none], '✓ nothing to decide: there is no NodePool yet'],
    [
      ['error: the server doesn\'t have a resource type "nodepools"\n', '', pods, ''],
      '✓ nothing to decide: there is no NodePool yet',
    ],
    [[pools, none, none, none], '✓ nothing to decide: no pod waits for a node'],
    [[pools, none, pods, none], '! 1 pods wait, and nothing is decided about them yet: look again in a minute'],
    [[pools, none, pods, event], '✓ decided: no node for default/web-1: no instance type has 900 cores'],
    [
      [pools, 'nodeclaim.karpenter.sh/general-a\nnodeclaim.karpenter.sh/general-b\n', pods, event],
      '✓ decided: 2 NodeClaims (general-a, general-b), 1 pods wait',
    ],
  ] as const)('%j', ([answers, said]) => {
    expect(renderDecision(answers)).toBe(said);
  });

  test('the key of the app is nowhere to be read', async () => {
    const { said, requests } = await type(ready(), optionsOf());
    expect([said, ...requests].join('\n')).not.toContain('key-of-the-app');
  });
});

describe('status', () => {
  test('says what is there and that it works', async () => {
    const world = ready();
    await type(world, optionsOf());
    const { code, said, requests } = await type(world, optionsOf({ kind: 'status' }));
    expect(code).toBe(0);
    expect(said.split('\n')).toEqual([
      'nodewright-my-cluster: Succeeded, 2026-11-26T01:05:00Z, westeurope, resource group rg-nodewright-my-cluster',
      '✓ the app can do its work: it reaches Azure, the API server and its storage',
      '✓ the relay was heard 3 s ago',
      '✓ nothing to decide: there is no NodePool yet',
    ]);
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
  });

  test('ends with 1 where nothing is deployed, where it is under way, and where it does not work', async () => {
    const world = ready();
    const before = await type(world, optionsOf({ kind: 'status' }));
    expect(before.code).toBe(1);
    expect(before.said).toContain('nothing is deployed for this cluster under the name my-cluster');
    await type(world, optionsOf());
    world.healthAfter = 5;
    const sick = await type(world, optionsOf({ kind: 'status' }));
    expect(sick.code).toBe(1);
    expect(sick.said).toContain('✗ the relay has published nothing yet');
    if (world.record !== null) world.record.state = 'Running';
    const early = await type(world, optionsOf({ kind: 'status' }));
    expect(early.code).toBe(1);
    expect(early.said).toContain('it is under way: az deployment sub wait');
  });

  test('of one that did not end well names the command that continues it, and not one that deploys another', async () => {
    const world = ready();
    await type(world, optionsOf({ name: 'second' }));
    if (world.record !== null) Object.assign(world.record, { state: 'Failed', outputs: {} });
    const { said } = await type(world, optionsOf({ kind: 'status', name: 'second' }));
    expect(said).toMatch(/did not end well: nodewright deploy --cluster \S+ --name second continues it/);
  });
});

describe('uninstall', () => {
  test('asks once, removes all of it in the order of the hook, and forgets it last', async () => {
    const world = ready();
    await type(world, optionsOf());
    world.pools = true;
    const { code, questions, requests } = await type(world, optionsOf({ kind: 'uninstall' }));
    expect(code).toBe(0);
    expect(questions).toEqual(['Remove it?']);
    expect(world).toMatchObject({ record: null, group: false, chart: false, pools: false });
    expect(requests.at(-1)).toBe('deployment sub delete --name nodewright-my-cluster');
    expect(requests.at(-2)).toBe('group delete --yes --name rg-nodewright-my-cluster');
    const after = await type(world, optionsOf({ kind: 'uninstall', isYes: true }));
    expect(after.code).toBe(1);
    expect(after.said).toContain('nothing is deployed');
  });

  test('every request may go wrong once, and the same command typed again removes the rest', async () => {
    const whole = async () => {
      const world = ready();
      await type(world, optionsOf());
      return world;
    };
    const options = optionsOf({ kind: 'uninstall', isYes: true });
    const clean = await type(await whole(), options);
    expect(clean.code).toBe(0);
    for (const mishap of ['refused', 'lost'] as const) {
      for (const [index, request] of clean.requests.entries()) {
        const world = await whole();
        const { code, said } = await type(world, options, { mishap: (_, at) => (at === index ? mishap : null) });
        expect(code, request).not.toBe(0);
        expect(said, request).not.toMatch(/azd env|undefined/);
        const again = await type(world, options);
        // Where only the last answer was lost nothing is left, and it says so.
        expect(world, request).toMatchObject({ record: null, group: false, chart: false });
        expect(again.code === 0 || again.said.includes('nothing is deployed'), request).toBe(true);
      }
    }
  });

  test('a deployment that made no identity leaves nothing outside its group', async () => {
    const world = ready({
      record: { state: 'Failed', at: 't', location: 'westeurope', parameters: { resourceGroupName: { value: 'own' } } },
    });
    const { code, requests } = await type(world, optionsOf({ kind: 'uninstall', isYes: true }));
    expect(code).toBe(0);
    expect(requests.filter((one) => /^(role|group|aks)/.test(one))).toEqual(['group delete --yes --name own']);
    expect(world.record).toBe(null);
  });

  test('what a deployment without outputs is worked out to be has every name that removing needs', async () => {
    const world = ready();
    await type(world, optionsOf());
    const { said: told } = await type(world, optionsOf({ kind: 'uninstall', isDry: true }));
    if (world.record !== null) world.record.state = 'Failed';
    const { said, requests, code } = await type(world, optionsOf({ kind: 'uninstall', isDry: true }));
    expect(code).toBe(0);
    for (const name of removalOutputs) expect(said).not.toContain(`$${name}`);
    // That of the kubelet identity is the only one that the made-up outputs leave empty.
    const shared = told.split('\n').filter((line) => line !== '');
    expect(shared.filter((line) => !said.includes(line))).toEqual([]);
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
  });

  test('a no, and nobody there, remove nothing', async () => {
    const world = ready();
    await type(world, optionsOf());
    const no = await type(world, optionsOf({ kind: 'uninstall' }), { answers: () => false });
    expect(no.code).toBe(1);
    const nobody = await type(world, optionsOf({ kind: 'uninstall' }), { answers: null });
    expect(nobody.code).toBe(2);
    expect(world.group).toBe(true);
  });
});
