import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../../cli/command.ts';
import { CLUSTER_ID, SUBSCRIPTION } from '../../../kit/infra/azure-answers.ts';
import { type World, newcomer, optionsOf, ready, type } from '../../../kit/cli/fake-azure.ts';

const parse = (...args: ReadonlyArray<string>) => parseCommand(['deploy', ...args]);

describe('what is typed wrong is refused with the argument and the fix', () => {
  test.for([
    [[], '--cluster: is missing (add --cluster ID: az aks show'],
    [['--cluster'], '--cluster: has no value'],
    [['--cluster', '--yes'], '--cluster: has no value'],
    [
      ['--cluster', 'my-cluster'],
      `--cluster: "my-cluster" is a name, and not an id (az aks list --query "[?name=='my-cluster'].id" --output tsv prints it)`,
    ],
    [
      ['--cluster', 'my-group/my-cluster'],
      'is not the id of an AKS cluster (az aks show --resource-group my-group --name my-cluster --query id --output tsv prints it)',
    ],
    [
      ['--cluster', `https://portal.azure.com/#@example.com/resource${CLUSTER_ID}/overview`],
      `is an address, and not an id (write ${CLUSTER_ID})`,
    ],
    [['--cluster', `${CLUSTER_ID}/agentPools/system`], `is the id of something inside a cluster (write ${CLUSTER_ID})`],
    [['--cluster', CLUSTER_ID.slice(0, CLUSTER_ID.indexOf('/providers'))], 'is not the id of an AKS cluster'],
    [['--cluster', CLUSTER_ID.replace(SUBSCRIPTION, 'mine')], 'is not a whole id'],
    [['--cluster', CLUSTER_ID, '--cluster', CLUSTER_ID], '--cluster: is given more than once (keep one)'],
    [['--cluster', CLUSTER_ID, '--name', 'a b'], '--name: "a b" cannot be part of names in Azure'],
    [['--cluster', CLUSTER_ID, '--name', 'a'.repeat(54)], 'use letters, digits and dashes, 53 at most'],
    [['--cluster', CLUSTER_ID, '--location', 'here!'], '--location: "here!" is no region'],
    [['--cluster', CLUSTER_ID, '--force'], '--force: is not an option (see nodewright deploy --help)'],
    [['--cluster', CLUSTER_ID, 'now'], 'now: is not an option'],
  ] as const)('%j', ([args, message]) => {
    expect(() => parse(...args)).toThrow(message);
  });

  test('status takes no options of deploy, and upgrade does not move', () => {
    expect(() => parseCommand(['status', '--cluster', CLUSTER_ID, '--yes'])).toThrow('--yes: is not an option');
    expect(() => parseCommand(['upgrade', '--cluster', CLUSTER_ID, '--location', 'westeurope'])).toThrow(
      '--location: is not an option (see nodewright upgrade --help)',
    );
  });
});

test('an id is taken in any case of letters, with a slash or blanks around it, and the region as Azure shows it', () => {
  expect(parse(`--cluster= ${CLUSTER_ID.toLowerCase()}/ `, '--location', 'West Europe', '--dry-run', '--yes')).toEqual({
    kind: 'deploy',
    cluster: CLUSTER_ID.toLowerCase(),
    name: 'my-cluster',
    location: 'westeurope',
    appZip: null,
    parameters: null,
    isDry: true,
    isYes: true,
  });
});

test.for(['deploy', 'status', 'uninstall'])('the help of %s documents every exit code', (command) => {
  const help = parseCommand([command, '--help']);
  expect(help).toEqual(parseCommand(['help', command]));
  for (const code of [0, 1, 2, 3])
    expect(help.kind === 'help' ? help.text : '').toMatch(new RegExp(`^  ${code} {3}\\w`, 'm'));
});

const changing =
  /^(az acr|npm|aks (update|start)|role assignment|deployment sub (create|delete)|functionapp deployment|group)|helm/;

/** A world, what is typed in it, the exit code, and what is said. Nothing is ever changed. */
const cases: ReadonlyArray<readonly [string, World, Parameters<typeof type>[1], number, string]> = [
  [
    'an az that is too old',
    ready({ azVersion: '2.67.1' }),
    optionsOf(),
    2,
    'the Azure CLI is 2.67.1, and 2.68 is needed: run az upgrade',
  ],
  [
    'another subscription',
    ready({ subscription: '11111111-1111-1111-1111-111111111111' }),
    optionsOf(),
    2,
    `the cluster is in subscription ${SUBSCRIPTION}, and az works in 11111111-1111-1111-1111-111111111111: run az account set --subscription ${SUBSCRIPTION}\n`,
  ],
  [
    'a cluster that is not there',
    ready(),
    optionsOf({ cluster: `${CLUSTER_ID}-2` }),
    1,
    'cannot read the cluster: there is no such resource: run az aks list --query [].id',
  ],
  [
    'a cluster that is being changed',
    ready({ cluster: { provisioningState: 'Updating' } }),
    optionsOf(),
    1,
    'wait until what is under way has ended',
  ],
  [
    'a cluster that only a person can mend',
    newcomer({ cluster: { enableRBAC: false } }),
    optionsOf(),
    1,
    '✗ step 1 of 6, what it takes: kubernetes-rbac has to be fixed by hand: the lines above say how (1 of 31 checks). Nothing was deployed',
  ],
  [
    'a deployment by another name for the same cluster',
    ready({ roles: ['Nodewright machines production-abcdefghijklm', 'Another role'] }),
    optionsOf(),
    1,
    'Nodewright is deployed for this cluster already, as production, and two would make nodes for the same pods: --name production continues',
  ],
  [
    'a name that another cluster has',
    ready({
      record: {
        state: 'Succeeded',
        at: 't',
        location: 'westeurope',
        parameters: { clusterResourceId: { value: '/x' } },
      },
    }),
    optionsOf(),
    2,
    '--name: my-cluster is the deployment for /x: give --name another',
  ],
  [
    'another region than before',
    ready({ record: { state: 'Succeeded', at: 't', location: 'westeurope', parameters: {} } }),
    optionsOf({ location: 'eastus' }),
    2,
    '--location: my-cluster is in westeurope, and cannot move',
  ],
  [
    'two at once',
    ready({ record: { state: 'Running', at: '2026-11-26T00:59:00Z', location: 'westeurope', parameters: {} } }),
    optionsOf(),
    1,
    'a deployment of my-cluster is under way since 2026-11-26T00:59:00Z (Running): somebody else',
  ],
  ['code that is not there', ready(), optionsOf({ appZip: 'nowhere.zip' }), 2, '--app-zip: nowhere.zip does not exist'],
];

test.for(cases)('%s: nothing is changed, and it says what to do', async ([, world, options, exitCode, message]) => {
  const { code, said, requests, questions } = await type(world, options);
  expect(`${said}\n`).toContain(message);
  expect(said).not.toContain('azd env');
  expect(code).toBe(exitCode);
  expect(requests.filter((one) => changing.test(one))).toEqual([]);
  expect(questions).toEqual([]);
});

test('without a login, and without az, it is one sentence', async () => {
  const { code, said } = await type(ready(), optionsOf(), {
    mishap: (request) => (request === 'account show' ? 'loggedOut' : null),
  });
  expect(said).toBe('✗ cannot see who is logged in: az is not logged in, or its login has expired: run az login');
  expect(code).toBe(2);
  const without = await type(ready(), optionsOf(), { mishap: () => 'missing' });
  expect(without.said).toBe('✗ the Azure CLI is not installed, or not on the PATH: install az, then run az login');
  expect(without.code).toBe(2);
});

test.for([
  [{ NODEWRIGHT_INSTANCE_MEMORY_MB: 'much' }, 'NODEWRIGHT_INSTANCE_MEMORY_MB is "much": write a number'],
  [{ NODEWRIGHT_AZURE_EVENTS: 'no' }, 'NODEWRIGHT_AZURE_EVENTS is "no": write true or false'],
  [{ NODEWRIGHT_CURRENCY: 'DM' }, 'fix: set the variable NODEWRIGHT_CURRENCY to one of USD'],
  [{ NODEWRIGHT_INSTALL: 'Helm' }, 'fix: set the variable NODEWRIGHT_INSTALL to helm'],
  [{ NODEWRIGHT_CREATE_REGISTRY: 'false' }, 'set the variable NODEWRIGHT_RELAY_IMAGE to REGISTRY/nodewright-relay:TAG'],
] as const)('a variable that does not fit is named: %j', async ([environment, message]) => {
  const { code, said, requests } = await type(ready(), optionsOf(), { environment });
  expect(said).toContain(message);
  expect(said).not.toContain('azd');
  expect(code).toBeGreaterThan(0);
  expect(requests.filter((one) => changing.test(one))).toEqual([]);
});

describe('who is asked', () => {
  test('a no changes nothing, and says what to type', async () => {
    const world = newcomer();
    const { code, said, requests } = await type(world, optionsOf(), { answers: () => false });
    expect(code).toBe(1);
    expect(said).toContain('nothing was changed: type the same again when you have decided');
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
  });

  test('a yes and then a no changes nothing either', async () => {
    let asked = 0;
    const { requests } = await type(newcomer(), optionsOf(), { answers: () => asked++ === 0 });
    expect(asked).toBe(2);
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
  });

  test('nobody is there: it says so, and does not wait', async () => {
    const { code, said, requests } = await type(newcomer(), optionsOf(), { answers: null });
    expect(code).toBe(2);
    expect(said).toContain('nobody is there to be asked: type the same with --yes');
    expect(requests.filter((one) => changing.test(one))).toEqual([]);
    const { code: without, questions } = await type(newcomer(), optionsOf({ isYes: true }), { answers: null });
    expect(without).toBe(0);
    expect(questions).toEqual([]);
  });
});

test('a right that was given already is no failure', async () => {
  const { code } = await type(newcomer(), optionsOf({ isYes: true }), {
    mishap: (request) => (request.startsWith('role assignment create') ? 'exists' : null),
  });
  expect(code).toBe(0);
});
