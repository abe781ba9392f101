import { describe, expect, test } from 'vitest';
import type { Clients } from '../../../../../shared/adapters/azure/calls/clients.ts';
import type { CompleteSettings } from '../../../../../shared/adapters/azure/network/complete-settings.ts';
import { createNodeClassFacts } from '../../../../../shared/adapters/azure/classes/node-class-facts.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { NodeClass } from '../../../../../shared/ports/kubernetes.ts';
import { armError } from '../../../../kit/azure/fake-azure.ts';
import { settings, subnet } from '../../../../kit/azure/launch-order.ts';

interface Version {
  readonly name?: string;
  readonly publishedDate?: Date;
}

/** Facts over galleries and a network that answer as the test says. */
function factsOver(
  versionsOf: (definition: string) => ReadonlyArray<Version> | Error,
  subnetAnswer: object | Error = {},
) {
  const state = { nowMs: 1_000_000 };
  const complete = (): Promise<CompleteSettings> => Promise.resolve({ settings, problems: [] });
  const asked: Array<string> = [];
  async function* list(location: string, gallery: string, definition: string): AsyncIterable<Version> {
    asked.push(`${location} ${gallery.split('-')[0]} ${definition}`);
    const answer = versionsOf(definition);
    if (answer instanceof Error) throw answer;
    yield* answer;
  }
  const clients = {
    compute: () => Promise.resolve({ communityGalleryImageVersions: { list } }),
    network: () =>
      Promise.resolve({
        subnets: {
          async get(...path: ReadonlyArray<string>) {
            asked.push(path.join(' '));
            if (subnetAnswer instanceof Error) throw subnetAnswer;
            return subnetAnswer;
          },
        },
      }),
  } as unknown as Clients;
  return { state, asked, facts: createNodeClassFacts(clients, settings, complete, () => state.nowMs) };
}

const classOf = (spec: NodeClass['spec']): NodeClass => ({ metadata: { name: 'd' }, spec });
const one = (): ReadonlyArray<Version> => [{ name: '1', publishedDate: new Date(1) }];

test('the identity of new kubelets is the one of the settings, or not known', async () => {
  const { facts } = factsOver(one);
  expect(await facts.kubeletIdentity()).toBe(settings.KUBELET_IDENTITY_CLIENT_ID ?? null);
  const given = { ...settings, KUBELET_IDENTITY_CLIENT_ID: 'an-identity' };
  const complete = () => Promise.resolve({ settings: given, problems: [] });
  expect(await createNodeClassFacts({} as Clients, settings, complete, () => 0).kubeletIdentity()).toBe('an-identity');
});

describe('the images of a class', () => {
  const definitionsOf = async (spec: NodeClass['spec'], version = '1.36.3'): Promise<ReadonlyArray<string>> => {
    const { facts, asked } = factsOver(one);
    await facts.images(classOf(spec), version);
    return asked.map((what) => what.split(' ')[2] ?? '');
  };

  test.for<readonly [NodeClass['spec'], string, string]>([
    [{}, '1.34.0', '2404'],
    [{}, '1.33.9', '2204'],
    [{}, '', '2204'],
    [{ imageFamily: 'Ubuntu' }, '1.34.0', '2404'],
    [{ imageFamily: 'Ubuntu2204' }, '1.36.0', '2204'],
    [{ imageFamily: 'Ubuntu2404' }, '1.30.0', '2404'],
    [{ imageFamily: 'AzureLinux' }, '1.32.0', 'V3'],
    [{ imageFamily: 'AzureLinux' }, '1.31.0', 'V2'],
  ])('%j at Kubernetes %s are those of %s', async ([spec, version, family]) => {
    const definitions = await definitionsOf(spec, version);
    expect(definitions).toHaveLength(3);
    expect(definitions.every((definition) => definition.startsWith(family))).toBe(true);
    expect(definitions.some((definition) => definition.includes('TL'))).toBe(false);
  });

  test.for([
    [{ vtpm: true }, ['2204gen2TLcontainerd']],
    [{ secureBoot: true }, ['2204gen2TLcontainerd']],
  ] as const)(
    'with trusted launch (%j) are those that can, of the older Ubuntu',
    async ([trustedLaunch, definitions]) => {
      expect(await definitionsOf({ security: { trustedLaunch } })).toEqual(definitions);
    },
  );

  test('without either part of trusted launch are the plain ones, and there are none with FIPS', async () => {
    expect(await definitionsOf({ security: { trustedLaunch: { vtpm: false } } })).toHaveLength(3);
    expect(await definitionsOf({ security: {} })).toHaveLength(3);
    expect(await definitionsOf({ fipsMode: 'FIPS' })).toEqual([]);
    expect(await definitionsOf({ fipsMode: 'Disabled' })).toHaveLength(3);
  });

  test('are the newest by the day they were published, in order of preference, with what a size must have', async () => {
    const { facts, asked } = factsOver((definition) => {
      if (definition === '2404containerd') return [];
      return [
        { name: '202609.9.0', publishedDate: new Date(5) },
        { name: '202610.1.0', publishedDate: new Date(9) },
        { name: '202611.1.0' },
        { name: '202608.1.0', publishedDate: new Date(7) },
      ];
    });
    const gallery = '/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images';
    const requirementsOf = (arch: string) => [
      { key: 'kubernetes.io/arch', operator: 'In', values: [arch] },
      { key: 'karpenter.azure.com/sku-hyperv-generation', operator: 'In', values: ['2'] },
    ];
    expect(await facts.images(classOf({}), '1.36.3')).toEqual([
      { id: `${gallery}/2404gen2containerd/versions/202610.1.0`, requirements: requirementsOf('amd64') },
      { id: `${gallery}/2404gen2arm64containerd/versions/202610.1.0`, requirements: requirementsOf('arm64') },
    ]);
    expect(asked[0]).toBe('westeurope AKSUbuntu 2404gen2containerd');
  });

  test('are none of a version without a name, or of a definition that is not there', async () => {
    const { facts } = factsOver((definition) =>
      definition === 'V3' ? armError(404, 'ResourceNotFound') : [{ publishedDate: new Date(1) }],
    );
    expect(await facts.images(classOf({ imageFamily: 'AzureLinux' }), '1.36.3')).toEqual([]);
  });

  test('are asked for once an hour for all classes', async () => {
    const { facts, asked, state } = factsOver(one);
    await Promise.all([facts.images(classOf({}), '1.36.3'), facts.images(classOf({ maxPods: 3 }), '1.36.3')]);
    state.nowMs += 3_600_000 - 1;
    await facts.images(classOf({}), '1.36.3');
    expect(asked).toHaveLength(3);
    state.nowMs += 1;
    await facts.images(classOf({}), '1.36.3');
    expect(asked).toHaveLength(6);
  });

  test('that could not be read are asked for anew, and none of them is left out meanwhile', async () => {
    let failures = 1;
    const { facts } = factsOver((definition) =>
      definition === '2404containerd' && failures-- > 0 ? armError(503, 'Busy') : one(),
    );
    await expect(facts.images(classOf({}), '1.36.3')).rejects.toBeInstanceOf(RetryableError);
    expect(await facts.images(classOf({}), '1.36.3')).toHaveLength(3);
  });
});

describe('the subnet of a class', () => {
  const stateOf = async (id: string | undefined, answer: object | Error = {}) => {
    const { facts, asked } = factsOver(one, answer);
    return { state: await facts.subnet(classOf(id === undefined ? {} : { vnetSubnetID: id })), asked };
  };

  test('is ready when it is there: its own, else the cluster’s', async () => {
    expect(await stateOf(undefined)).toEqual({ state: { kind: 'ready' }, asked: ['net-group net nodes'] });
    const other = subnet.replace('/nodes', '/Others');
    expect(await stateOf(other)).toEqual({ state: { kind: 'ready' }, asked: ['net-group net Others'] });
  });

  test('is the same network in any case', async () => {
    expect((await stateOf(subnet.toUpperCase())).state).toEqual({ kind: 'ready' });
  });

  test.for([
    ['no id', 'nodes', 'SubnetIDInvalid', 'is not a subnet id'],
    ['the id of a network', subnet.replace('/subnets/nodes', ''), 'SubnetIDInvalid', 'is not a subnet id'],
    ['longer than an id', `${subnet}/x`, 'SubnetIDInvalid', 'is not a subnet id'],
    ['after something else', `x${subnet}`, 'SubnetIDInvalid', 'is not a subnet id'],
    ['in another network', subnet.replace('/net/', '/else/'), 'SubnetIDInvalid', 'outside the cluster’s'],
    ['in another subscription', subnet.replace('/s/', '/t/'), 'SubnetIDInvalid', 'subscription t'],
  ] as const)('is refused, and not asked for, when it is %s', async ([, id, reason, words]) => {
    const { state, asked } = await stateOf(id);
    expect(state).toMatchObject({ kind: 'refused', reason });
    expect((state as { readonly message: string }).message).toContain(words.replace('’', "'"));
    expect(asked).toEqual([]);
  });

  test('is refused when it is not there, and unknown when nobody can say', async () => {
    expect((await stateOf(undefined, armError(404, 'NotFound'))).state).toEqual({
      kind: 'refused',
      reason: 'SubnetNotFound',
      message: `subnet ${subnet} does not exist`,
    });
    await expect(stateOf(undefined, armError(403, 'AuthorizationFailed'))).rejects.toThrow('reading subnet nodes: 403');
  });
});
