import { describe, expect, test } from 'vitest';
import { type Mishap, type World, newcomer, optionsOf, ready, type } from '../../../kit/cli/fake-azure.ts';

/** Whether everything is there that a deployment makes. */
const isWhole = ({ record, group, image, chart, code }: World): boolean =>
  record?.state === 'Succeeded' && group && image && chart && code;

describe('one command', () => {
  test('deploys for a cluster as az makes it today, with two questions', async () => {
    const world = newcomer();
    const { code, said, questions, requests } = await type(world, optionsOf());
    expect(said).not.toMatch(/^✗/m);
    expect(code).toBe(0);
    expect(isWhole(world)).toBe(true);
    expect(questions).toHaveLength(2);
    expect(requests.filter((one) => one.startsWith('aks update'))).toEqual([
      'aks update --resource-group my-group --name my-cluster --enable-aad --enable-azure-rbac --enable-oidc-issuer --enable-workload-identity',
    ]);
    expect(said).toContain(
      "az role assignment create --assignee you@example.com --role 'Azure Kubernetes Service RBAC",
    );
    expect(said).toContain('✓ the relay was heard 3 s ago');
    expect(said).toContain('✓ nothing to decide: there is no NodePool yet');
    expect(said).toMatch(/\[6\/6\] a first look/);
  });

  test('is not asked anything where nothing has to be mended, and takes the steps in their order', async () => {
    const world = ready();
    const { code, questions, requests } = await type(world, optionsOf());
    expect(code).toBe(0);
    expect(questions).toEqual([]);
    const made = requests.filter((one) =>
      /^(npm|az acr build|deployment sub create|functionapp deployment|https)/.test(one),
    );
    const helm = requests.findIndex((one) => one.includes('helm upgrade'));
    expect(made.map((one) => one.split(' ').slice(0, 3).join(' '))).toEqual([
      'npm run --silent',
      'deployment sub create',
      'az acr build',
      'functionapp deployment source',
      ...Array.from({ length: 3 }, () => 'https://func.example.net/api/health'),
    ]);
    expect(helm).toBeGreaterThan(requests.findIndex((one) => one.startsWith('az acr build')));
    expect(helm).toBeLessThan(requests.findIndex((one) => one.startsWith('functionapp deployment')));
  });
});

describe('an upgrade', () => {
  const upgrade = optionsOf({ kind: 'upgrade' });

  test('takes the steps of a deployment, with what was said then', async () => {
    const world = ready();
    await type(world, optionsOf(), { environment: { NODEWRIGHT_CURRENCY: 'EUR' } });
    const { code, said, requests } = await type(world, upgrade);
    expect(said).not.toMatch(/^✗/m);
    expect(code).toBe(0);
    expect(requests.filter((one) => /^(deployment sub create|functionapp deployment)/.test(one))).toHaveLength(2);
    expect(world.record?.parameters['currency']).toEqual({ value: 'EUR' });
  });

  test('deploys nothing where nothing is deployed, such as under a name that was mistyped', async () => {
    const world = ready();
    const { code, said, requests } = await type(world, upgrade);
    expect(code).toBe(1);
    expect(said).toContain(
      '✗ nothing is deployed as nodewright-my-cluster: deploy it with nodewright deploy --cluster',
    );
    expect(requests.filter((one) => /create|update|invoke|config-zip/.test(one))).toEqual([]);
  });

  test('that stops says how to go on as an upgrade', async () => {
    const world = ready();
    await type(world, optionsOf());
    const { said } = await type(world, upgrade, {
      mishap: (request) => (request.startsWith('functionapp deployment') ? 'refused' : null),
    });
    expect(said).toMatch(/type the same again:\n    nodewright upgrade --cluster \S+$/m);
  });
});

/** Requests that a deployment does without: a region's plans are a hint, and the last look goes on looking. */
const SPARED =
  /^functionapp list-flex|\/Microsoft\.Web\/sites\/|^https:|kubectl get nodepools --output name; echo|kubectl auth can-i|^role assignment create/;

/**
 * Types the same until it ends well, as its own words say; each time that Azure is at work on it, that ends meanwhile.
 */
async function typeAgain(world: World): Promise<void> {
  if (world.record?.state === 'Running') {
    const early = await type(world, optionsOf());
    expect(early.code).toBe(1);
    expect(early.said).toContain('az deployment sub wait --name nodewright-my-cluster --created');
    expect(early.requests.filter((one) => /update|create|invoke|config-zip/.test(one))).toEqual([]);
    world.record.state = 'Succeeded';
  }
  const again = await type(world, optionsOf());
  expect(again.said).not.toMatch(/^✗/m);
  expect(again.code).toBe(0);
  expect(isWhole(world)).toBe(true);
}

const clean = await type(newcomer(), optionsOf());
const mishaps: ReadonlyArray<Mishap> = ['refused', 'lost', 'failed'];

describe('every request may go wrong once, and the same command typed again ends well', () => {
  test.for(mishaps)('%s', async (kind) => {
    expect(clean.requests.length).toBeGreaterThan(30);
    for (const [index, request] of clean.requests.entries()) {
      const world = newcomer();
      const { code, said } = await type(world, optionsOf(), { mishap: (_, at) => (at === index ? kind : null) });
      if (code === 0) {
        expect(request).toMatch(SPARED);
        expect(isWhole(world)).toBe(true);
        continue;
      }
      expect(code, request).toBeLessThanOrEqual(2);
      expect(said, request).toContain('✗ ');
      expect(said, request).not.toMatch(/azd|undefined|\[object/);
      // Before the first step nothing has begun; after it the command says where it stopped.
      if (/\[1\/6\]/.test(said)) {
        expect(said, request).toMatch(
          /✗ step \d of 6, .+: .+\n( {2}.*\n)* {2}Stopped after .*; .*type the same again:\n {4}nodewright deploy --cluster/,
        );
      }
      await typeAgain(world);
    }
  });
});

describe('a deployment that Azure has not made', () => {
  const failing = {
    mishap: (request: string): Mishap | null => (request.startsWith('deployment sub create') ? 'failed' : null),
  };

  test('says the innermost cause, and where it stopped', async () => {
    const { code, said } = await type(ready(), optionsOf(), failing);
    expect(code).toBe(1);
    expect(said).toContain(
      '✗ step 3 of 6, infrastructure: Azure has not made all of it: QuotaExceeded: no room for Flex Consumption',
    );
    expect(said).toContain('steps 1 to 2 are done, and stay');
  });

  test('an earlier cause is not taken for why Azure does not even begin', async () => {
    const world = ready();
    await type(world, optionsOf(), failing);
    const { said } = await type(world, optionsOf(), {
      mishap: (request) => (request.startsWith('deployment sub create') ? 'refused' : null),
    });
    expect(said).toContain('The service is busy');
    expect(said).not.toContain('QuotaExceeded');
  });

  test('can be removed all the same', async () => {
    const world = ready();
    await type(world, optionsOf(), failing);
    const { code, requests } = await type(world, optionsOf({ kind: 'uninstall', isYes: true }));
    expect(code).toBe(0);
    expect(requests).toContain('group delete --yes --name rg-nodewright-my-cluster');
    expect(requests.join('\n')).toContain('role definition delete --name Nodewright machines my-cluster-abcdefghijklm');
    expect(world).toMatchObject({ record: null, group: false });
  });
});
