import { describe, expect, test } from 'vitest';
import type { Container, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { daemonSet, node, pool, requirement, size, spec } from '../../kit/core/build.ts';
import {
  apart,
  D2,
  D4,
  D8,
  GPU,
  key,
  machines,
  ours,
  pod,
  poolWith,
  prefers,
  replicas,
  requires,
  requiresAny,
  schedule,
  spreadOver,
  term,
  web,
  wouldBe,
  z1,
  z2,
} from './kit/kit.ts';

/** Karpenter's scenarios of section I: the provisioner. I01, I03 and I05 are beside the code that they are about. */

const taint = { key: 'dedicated', effect: 'NoSchedule' };
const typesOf = (outcome: ReturnType<typeof schedule>) => outcome.claims.map(({ offering }) => offering.instanceType);

describe('how many nodes', () => {
  test('many pods get one node, as many as its limit of pods allows [I02]', () => {
    const ten = size('Standard_D8s_v5', 8, 32, 390_000, { capacity: { cpu: 8, memory: '32Gi', pods: 10 } });
    expect(schedule({ types: [D8], pods: replicas(30, 'a', { cpu: '10m' }) }).claims).toHaveLength(1);
    expect(schedule({ types: [ten], pods: replicas(30, 'a', { cpu: '10m' }) }).perPlace('a')).toEqual([10, 10, 10]);
  });

  test('pods with GPUs get nodes that have them, and others share those where there is room and get plain ones else [I02]', () => {
    const outcome = schedule({
      types: [D2, GPU],
      pods: [...replicas(2, 'gpu', { requests: { 'nvidia.com/gpu': '1' } }), ...replicas(5, 'a', { cpu: '1900m' })],
    });
    expect(typesOf(outcome).toSorted()).toEqual(['Standard_D2s_v5', 'Standard_NC4as_T4_v3', 'Standard_NC4as_T4_v3']);
  });

  test('without a usable pool every pod is left, and the reason says why [I04]', () => {
    expect(schedule({ pools: [], pods: [pod('a')] }).rulesFor('a')).toEqual(['no-node-pool']);
    const broken = {
      ...pool('default'),
      status: { conditions: [{ type: 'Ready', status: 'False', message: 'the class is gone' }] },
    };
    expect(schedule({ pools: [broken], pods: [pod('a')] }).wordsFor('a')).toContain('the class is gone');
  });
});

describe('limits', () => {
  const limited = (limits: Record<string, string>) => [pool('default', { limits })];
  const used = machines(ours('n', { allocatable: { cpu: '0', memory: '0', pods: 0 } }));

  test('a pool that is over its limit launches nothing [I06]', () => {
    const there = machines({
      ...ours('n'),
      node: { ...ours('n').node, status: { allocatable: { cpu: 0 }, capacity: { cpu: 40 } } },
    });
    expect(schedule({ ...there, pools: limited({ cpu: '20' }), pods: [pod('a')] }).rulesFor('a')).toEqual(['limit']);
  });

  test('a launch that meets the limit exactly is made [I06]', () => {
    expect(schedule({ types: [D2], pools: limited({ cpu: '2' }), pods: [pod('a')] }).left).toEqual([]);
  });

  test('where the limit holds some pods, those are placed [I06]', () => {
    const outcome = schedule({ types: [D2], pools: limited({ cpu: '4' }), pods: replicas(3, 'a', { cpu: '1500m' }) });
    expect([outcome.claims.length, outcome.left.length]).toEqual([2, 1]);
  });

  test('a size that would exceed the limit is not launched, a smaller one that does not is [I06]', () => {
    const outcome = schedule({ types: [D8, D4], pools: limited({ cpu: '4' }), pods: replicas(2, 'a', { cpu: '3' }) });
    expect([typesOf(outcome), outcome.left.length]).toEqual([['Standard_D4s_v5'], 1]);
  });

  test('any resource can be limited, GPUs too [I06]', () => {
    const outcome = schedule({
      types: [D2, GPU],
      pools: limited({ 'nvidia.com/gpu': '1' }),
      pods: [...replicas(2, 'g', { requests: { 'nvidia.com/gpu': '1' } }), pod('a')],
    });
    expect([outcome.left.length, outcome.placeOf('a').startsWith('new')]).toEqual([1, true]);
  });

  test('the limit is reached in one plan, where Karpenter counts each node as its largest choice and needs several [I06]', () => {
    const outcome = schedule({ pools: limited({ cpu: '8' }), pods: replicas(4, 'a', { cpu: '1900m' }) });
    expect(outcome.left).toEqual([]);
  });

  test('nodes can be limited, and one plan does not exceed that either [I06] [M02]', () => {
    const outcome = schedule({
      ...used,
      types: [D2],
      pools: limited({ nodes: '3' }),
      pods: replicas(4, 'a', { cpu: '1500m' }),
    });
    expect([outcome.claims.length, outcome.left.length]).toEqual([2, 2]);
  });

  test('nodes that are being deleted no longer count [I06]', () => {
    const gone = machines(ours('n', { deleting: true }));
    expect(schedule({ ...gone, types: [D2], pools: limited({ nodes: '1' }), pods: [pod('a')] }).left).toEqual([]);
  });

  test('pods of higher priority get what a limit leaves, whatever their size [I06]', () => {
    const outcome = schedule({
      types: [D2],
      pools: limited({ nodes: '1' }),
      pods: [pod('large', { cpu: '1900m' }), pod('urgent', { cpu: '1', priority: 100 })],
    });
    expect(outcome.left).toEqual(['large']);
  });
});

const containers = (cpu: string, more: Partial<Container> = {}): PodSpec => ({
  containers: [{ resources: { requests: { cpu } }, ...more }],
});

describe('daemonsets', () => {
  const with_ = (podSpec: PodSpec, cpu = '1900m', more: Partial<Parameters<typeof schedule>[0]> = {}) =>
    schedule({ types: [D2, D4], daemonSets: [daemonSet('agent', podSpec)], pods: [pod('a', { cpu })], ...more });
  const reserved = 'Standard_D4s_v5';
  const ignored = 'Standard_D2s_v5';

  test.each([
    ['its requests', containers('500m'), reserved],
    ['its limits where it has no requests', { containers: [{ resources: { limits: { cpu: '500m' } } }] }, reserved],
    [
      'its largest init container',
      { containers: [{}], initContainers: [{ resources: { requests: { cpu: '500m' } } }] },
      reserved,
    ],
    [
      'its sidecars',
      { containers: [{}], initContainers: [{ resources: { requests: { cpu: '500m' } }, restartPolicy: 'Always' }] },
      reserved,
    ],
    ['its overhead', { ...containers('1m'), overhead: { cpu: '500m' } }, reserved],
    ['nothing, when it asks for nothing', { containers: [{}] }, ignored],
  ])('%s are reserved on a new node [I07]', (_, podSpec, expected) => {
    expect(typesOf(with_(podSpec))).toEqual([expected]);
  });

  test('a daemon that no size has room for keeps the pods out, and the reason names daemonsets [I07]', () => {
    expect(with_(containers('100')).wordsFor('a')).toContain('daemonsets');
  });

  test('defaults of its namespace’s LimitRange are reserved before a pod of it exists, those of a pod after [I07] [M02]', () => {
    const limitRanges = [
      {
        metadata: { name: 'd', namespace: 'kube-system' },
        spec: { limits: [{ type: 'Container', defaultRequest: { cpu: '500m' } }] },
      },
    ];
    expect(typesOf(with_({ containers: [{}] }, '1900m', { limitRanges }))).toEqual([reserved]);
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'u' };
    const defaulted = pod('agent-x', { cpu: '600m', owner, namespace: 'kube-system', on: 'elsewhere' });
    expect(typesOf(with_({ containers: [{}] }, '1900m', { pods: [defaulted, pod('a', { cpu: '1500m' })] }))).toEqual([
      reserved,
    ]);
  });

  test.each([
    [
      'a taint of the pool that it does not tolerate',
      pool('default', { taints: [taint] }),
      containers('500m'),
      ignored,
    ],
    [
      'a taint of the pool that it tolerates',
      pool('default', { taints: [taint] }),
      { ...containers('500m'), tolerations: [{ operator: 'Exists' }] },
      reserved,
    ],
    [
      'a soft taint',
      pool('default', { taints: [{ ...taint, effect: 'PreferNoSchedule' }] }),
      containers('500m'),
      reserved,
    ],
    ['a startup taint', pool('default', { startupTaints: [taint] }), containers('500m'), reserved],
  ])('with %s it is reserved only where it will run [I07]', (_, own, podSpec, expected) => {
    const tolerant = pod('a', { cpu: '1900m', tolerations: [{ operator: 'Exists' }] });
    expect(typesOf(with_(podSpec, '', { pools: [own], pods: [tolerant] }))).toEqual([expected]);
  });

  test.each([
    ['a selector that no node of the pool meets', { nodeSelector: { team: 'red' } }, ignored],
    ['a selector on a label of the pool', { nodeSelector: { 'example.com/team': 'blue' } }, reserved],
    ['a selector on a size', { nodeSelector: { [key.cpu]: '2' } }, reserved],
    ['NotIn on a key that nobody defines', requires(requirement('none', 'NotIn', 'x')), reserved],
    [
      'a required host, which its controller replaces',
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [requirement('none', 'DoesNotExist')] }],
            },
          },
        },
      },
      reserved,
    ],
    [
      'terms of which the second holds',
      requiresAny([requirement('none', 'Exists')], [requirement(key.zone, 'Exists')]),
      reserved,
    ],
    [
      'terms of which none holds',
      requiresAny([requirement('none', 'Exists')], [requirement('nor', 'Exists')]),
      ignored,
    ],
    [
      'a preference that no node meets, which counts for nothing',
      prefers([1, requirement('none', 'Exists')]),
      reserved,
    ],
    [
      'a label that the node gets when it is initialized',
      { nodeSelector: { 'karpenter.sh/initialized': 'true' } },
      reserved,
    ],
  ])('with %s [I07]', (_, rule, expected) => {
    const own = pool('default', { labels: { 'example.com/team': 'blue' } });
    expect(typesOf(with_({ ...containers('500m'), ...rule }, '1900m', { pools: [own] }))).toEqual([expected]);
  });

  test('its host ports are taken on every node that it runs on, and free where it cannot run [I07]', () => {
    const port = { ports: [{ hostPort: 80 }] };
    const listens = pod('a', { containers: [{ resources: { requests: { cpu: '1' } }, ...port }] });
    expect(with_(containers('10m', port), '', { pods: [listens] }).left).toEqual(['a']);
    const elsewhere = { ...containers('10m', port), nodeSelector: { [key.zone]: z1 } };
    expect(with_(elsewhere, '', { pods: [listens] }).claimOf('a').offering.zone).not.toBe(z1);
  });

  test('daemons of some sizes only are reserved on those [I07]', () => {
    const onLarge = { ...containers('3'), nodeSelector: { [key.type]: 'Standard_D4s_v5' } };
    expect(with_(onLarge, '2500m').left).toEqual(['a']);
    expect(typesOf(with_(onLarge, '1500m'))).toEqual([ignored]);
  });
});

describe('what a claim is', () => {
  test('annotations and labels of the pool’s template are the claim’s, Kubernetes’ own domains included [I08]', () => {
    const labels = { 'kubernetes.io/custom': 'x', 'node.kubernetes.io/role': 'y', 'example.com/team': 'z' };
    const own = pool('default', { labels });
    const annotated = {
      ...own,
      spec: { ...own.spec, template: { ...own.spec.template, metadata: { labels, annotations: { note: 'hello' } } } },
    };
    const claim = schedule({ pools: [annotated], pods: [pod('a')] }).claimOf('a');
    expect(claim.labels).toMatchObject({
      ...labels,
      [key.pool]: 'default',
      'karpenter.azure.com/aksnodeclass': 'default',
    });
    expect(claim.annotations).toMatchObject({ note: 'hello' });
  });

  test('requirements give labels to custom keys only: what the size or the offering decides is left to the launch [I08]', () => {
    const own = poolWith(
      'default',
      requirement('example.com/team', 'In', 'red'),
      requirement(key.zone, 'In', z1),
      requirement(key.arch, 'Exists'),
      requirement('example.com/bare', 'Exists'),
    );
    const { labels } = schedule({ pools: [own], pods: [pod('a')] }).claimOf('a');
    expect(Object.keys(labels).toSorted()).toEqual(
      ['example.com/bare', 'example.com/team', 'karpenter.azure.com/aksnodeclass', key.pool].toSorted(),
    );
  });

  test('its requirements are the pool’s with the pods’, and the sizes, zones and capacity types that are left [I09]', () => {
    const own = poolWith(
      'default',
      requirement(key.arch, 'In', 'amd64'),
      requirement(key.os, 'In', 'linux'),
      requirement('example.com/team', 'Exists'),
    );
    const claim = schedule({
      pools: [own],
      pods: [pod('a', { cpu: '3', nodeSelector: { [key.zone]: z2, 'example.com/team': 'red' } })],
    }).claimOf('a');
    const found = Object.fromEntries(claim.requirements.map((one) => [one.key, one.values]));
    expect(found).toMatchObject({
      [key.arch]: ['amd64'],
      [key.os]: ['linux'],
      'example.com/team': ['red'],
      [key.zone]: [z2],
      [key.capacityType]: ['on-demand'],
      [key.type]: ['Standard_D4s_v5', 'Standard_D8s_v5'],
      [key.pool]: ['default'],
    });
  });

  test('its requests are the pods’ and the daemons’ together, each once [I09]', () => {
    const daemonSets = [
      daemonSet('agent', spec('200m', '128Mi')),
      daemonSet('elsewhere', spec('1', '1Gi', { nodeSelector: { none: 'x' } })),
    ];
    const { requests } = schedule({ daemonSets, pods: replicas(2, 'a', { cpu: '500m', memory: '1Gi' }) }).claimOf(
      'a-0',
    );
    expect(requests).toMatchObject({ cpu: '1200m', memory: '2176Mi', pods: '3' });
  });

  test('its node class is its pool’s [I09]', () => {
    expect(schedule({ pods: [pod('a')] }).claimOf('a').labels['karpenter.azure.com/aksnodeclass']).toBe('default');
  });

  test('under Ignore no preference is looked at: of nodes, pods, apart or spread [I10]', () => {
    const wishes = [
      prefers([100, requirement(key.type, 'In', 'Standard_D8s_v5')]),
      wouldBe('apart', term(key.host, web)),
      wouldBe('near', term(key.zone, { app: 'none' })),
      { topologySpreadConstraints: [spreadOver(key.host, { whenUnsatisfiable: 'ScheduleAnyway' })] },
    ];
    for (const wish of wishes) {
      const outcome = schedule({
        policy: { preferencePolicy: 'Ignore' },
        pods: replicas(4, 'web', { labels: web, ...wish }),
      });
      expect(typesOf(outcome)).toEqual(['Standard_D2s_v5']);
    }
  });

  test('under Ignore what is required still binds [I10]', () => {
    const outcome = schedule({
      policy: { preferencePolicy: 'Ignore' },
      pods: replicas(3, 'web', { labels: web, ...apart(term(key.host, web)) }),
    });
    expect(outcome.perPlace('web')).toEqual([1, 1, 1]);
  });
});

describe('which pool', () => {
  test('a pod gets the pool that it names, whatever the weights [I11]', () => {
    const pools = [pool('light', { weight: 1 }), pool('heavy', { weight: 100 })];
    expect(schedule({ pools, pods: [pod('a', { nodeSelector: { [key.pool]: 'light' } })] }).claimOf('a').nodePool).toBe(
      'light',
    );
  });

  test('or the one whose labels it selects [I11]', () => {
    const pools = [pool('plain', { weight: 100 }), pool('labelled', { labels: { team: 'red' } })];
    expect(schedule({ pools, pods: [pod('a', { nodeSelector: { team: 'red' } })] }).claimOf('a').nodePool).toBe(
      'labelled',
    );
  });

  test('else the heaviest that takes it; the weight that is not given is 0 [I11]', () => {
    const pools = [pool('a'), pool('b', { weight: 20 }), pool('c', { weight: 100, taints: [taint] })];
    expect(schedule({ pools, pods: [pod('a')] }).claimOf('a').nodePool).toBe('b');
  });

  test('among pools of one weight the price decides, where Karpenter goes by name [I11]', () => {
    const spot = poolWith('a-spot', requirement(key.capacityType, 'In', 'spot'));
    expect(schedule({ pools: [pool('z-dear'), spot], pods: [pod('a')] }).claimOf('a').nodePool).toBe('a-spot');
  });

  const fixed = (name: string) => ({ ...pool(name), spec: { ...pool(name).spec, replicas: 3 } });

  test('a static pool never gets a node for a pod, and the reason says so [I12]', () => {
    const outcome = schedule({ pools: [fixed('static')], pods: [pod('a')] });
    expect(outcome.wordsFor('a')).toContain('static');
  });

  test('beside a static pool others still get theirs, and its nodes take pods like any others [I12]', () => {
    const there = machines(ours('n', { pool: 'static', cpu: 1 }));
    const outcome = schedule({
      ...there,
      pools: [fixed('static'), pool('dynamic')],
      pods: [pod('a'), pod('b', { cpu: '1500m' })],
    });
    expect([outcome.placeOf('a'), outcome.claimOf('b').nodePool]).toEqual(['node n', 'dynamic']);
  });

  test.each([
    ['a size that does not exist', requirement(key.type, 'In', 'Standard_None')],
    ['a zone that does not exist', requirement(key.zone, 'In', 'none')],
    ['an architecture that no size has', requirement(key.arch, 'In', 'riscv')],
    ['bounds that nothing is within', requirement(key.cpu, 'Gt', '1000')],
  ])('a pool that asks for %s says that it has no size, whatever the pod asks for [I14]', (_, expression) => {
    const outcome = schedule({ pools: [poolWith('default', expression)], pods: [pod('a')] });
    expect(outcome.rulesFor('a')).toEqual(['no-instance-type']);
  });

  test('a pod on an unmanaged node in a zone that no pool has leaves pools alone [I11]', () => {
    const nodes = [node('foreign', 2, 8, { [key.zone]: 'elsewhere' })];
    expect(schedule({ nodes, pods: [pod('a', { nodeSelector: { [key.zone]: 'elsewhere' } })] }).placeOf('a')).toBe(
      'node foreign',
    );
  });
});
