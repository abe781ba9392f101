import { describe, expect, test } from 'vitest';
import type { Pod, PodShape } from '../../../../../shared/core/model/cluster.ts';
import type {
  LabelSelector,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from '../../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../../shared/core/audit/audit-plan.ts';
import type { Nomination, Plan } from '../../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import type { ProvisioningInput } from '../../../../../shared/core/model/provisioning-input.ts';
import { input, node, pool, shape, size, spec, zones } from '../../../../kit/core/build.ts';

/**
 * What the audit says of pods that are put on nodes by hand. It reads the final state once, by shape, by label, by
 * domain and by what constraints see; each rule here is one that a wrong reading would break.
 */

const ZONE = 'topology.kubernetes.io/zone';
const KIND = 'example.com/kind';
const [z1, z2, z3] = zones;

/** Pods alike on one node: those that run there, and those that the plan puts there. */
interface Draft {
  readonly on: string;
  readonly running?: number;
  readonly leaving?: number;
  readonly planned?: number;
  readonly shape: PodShape;
}

const nothing = microUsdPerHour(0);

/** What the audit finds about other pods, as texts. */
function findings(drafts: ReadonlyArray<Draft>, cluster: Parameters<typeof input>[0] = {}): ReadonlyArray<string> {
  const shapes = [...new Set(drafts.map((draft) => draft.shape))];
  const nominations: Array<Nomination> = [];
  const all = drafts.flatMap((draft, index): ReadonlyArray<Pod> => {
    const { on, running = 0, leaving = 0, planned = 0 } = draft;
    const own = Array.from({ length: running + leaving + planned }, (_, at) =>
      podOf(`p${index}-${at}`, shapes.indexOf(draft.shape), on),
    );
    const there = own.slice(0, running + leaving).map((pod, at) => ({ ...pod, deleting: at >= running }));
    const waiting = own.slice(running + leaving).map((pod) => ({ ...pod, nodeName: null, running: false }));
    nominations.push({ target: { kind: 'node', name: on }, pods: waiting.map(({ name, uid }) => ({ name, uid })) });
    return [...there, ...waiting];
  });
  const given: ProvisioningInput = input({ nodes: THREE, namespaces, ...cluster, shapes, pods: all });
  const plan: Plan = {
    claims: [],
    nominations,
    left: [],
    buffers: [],
    devices: [],
    cost: nothing,
    lowerBound: nothing,
    weighed: { cost: nothing, lowerBound: nothing },
  };
  return auditPlan(plan, given).map(({ rule, text }) => `${rule} ${text}`);
}

function podOf(name: string, index: number, nodeName: string): Pod {
  return {
    name,
    uid: name,
    shape: index,
    createdAtMs: 0,
    startedAtMs: 0,
    nodeName,
    nominatedNodeName: null,
    unschedulable: false,
    deleting: false,
    running: true,
    ready: true,
  };
}

const THREE = [node('n1', 8, 32, { [ZONE]: z1 }), node('n2', 8, 32, { [ZONE]: z2 }), node('n3', 8, 32, { [ZONE]: z3 })];
const kinds = (...values: ReadonlyArray<string>) =>
  values.map((kind, at) => node(`n${at + 1}`, 8, 32, { [ZONE]: zones[at] ?? '', [KIND]: kind }));
const namespaces = [{ metadata: { name: 'red', labels: { team: 'x' } } }, { metadata: { name: 'blue' } }];

const web = { app: 'web' };
const like = (labels: Readonly<Record<string, string>>): LabelSelector => ({ matchLabels: labels });
const hasValue = (key: string, operator: string, ...values: ReadonlyArray<string>): LabelSelector => ({
  matchExpressions: [{ key, operator, values }],
});
const spread = (more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: ZONE,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: like(web),
  ...more,
});
const spreading = (constraint: TopologySpreadConstraint, more: Partial<PodSpec> = {}): PodSpec =>
  spec('100m', '128Mi', { topologySpreadConstraints: [constraint], ...more });
const away = (more: Partial<PodAffinityTerm> = {}): PodSpec => {
  const term = { topologyKey: ZONE, labelSelector: like(web), ...more };
  return spec('100m', '128Mi', {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
};
const plain = spec('100m', '128Mi');
const tooMany = (zone: string, namespace = 'default') => `spread ${namespace}: ${ZONE} ${zone} has too many pods`;

describe('whom a selector means', () => {
  test.each([
    ['any of the values that it names', hasValue('app', 'In', 'db', 'web')],
    ['a value twice named', hasValue('app', 'In', 'web', 'web')],
    ['the key alone', hasValue('app', 'Exists')],
    ['the lack of another value', hasValue('app', 'NotIn', 'db')],
    ['nothing, and means all of the namespace', {}],
  ])('pods that are there already count when the selector asks for %s', (_, labelSelector) => {
    const drafts = [
      { on: 'n1', running: 1, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: shape(spreading(spread({ labelSelector })), web) },
    ];
    expect(findings(drafts)).toEqual([tooMany(z1)]);
  });

  test.each([
    ['the value is another', hasValue('app', 'In', 'db')],
    ['only one of two labels is theirs', like({ ...web, tier: 'back' })],
    ['a second expression does not hold', { ...like(web), ...hasValue('tier', 'Exists') }],
  ])('pods do not count when %s', (_, labelSelector) => {
    const drafts = [
      { on: 'n1', running: 3, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: shape(spreading(spread({ labelSelector })), web) },
    ];
    expect(findings(drafts)).toEqual([]);
  });

  test('a pod that is leaving is in nobody’s way', () => {
    const drafts = [
      { on: 'n1', leaving: 1, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: shape(away(), { app: 'other' }) },
    ];
    expect(findings(drafts)).toEqual([]);
  });

  test('the same term looks for pods of its owner’s namespace, for each of two owners', () => {
    const drafts = [
      { on: 'n1', running: 1, shape: shape(plain, web, 'red') },
      { on: 'n1', planned: 1, shape: shape(away(), { app: 'other' }, 'blue') },
      { on: 'n1', planned: 1, shape: shape(away(), { app: 'other' }, 'red') },
    ];
    expect(findings(drafts)).toEqual([`anti-affinity red/2: 1 pods in ${z1}`]);
  });

  test('terms that differ in their selector of namespaces alone look for different pods', () => {
    const drafts = [
      { on: 'n1', running: 1, shape: shape(plain, web, 'red') },
      { on: 'n1', planned: 1, shape: shape(away({ namespaceSelector: like({ team: 'y' }) }), {}, 'blue') },
      { on: 'n1', planned: 1, shape: shape(away({ namespaceSelector: like({ team: 'x' }) }), {}, 'blue') },
    ];
    expect(findings(drafts)).toEqual([`anti-affinity blue/2: 1 pods in ${z1}`]);
  });

  test('a key and its deprecated spelling are one', () => {
    const drafts = [
      { on: 'n1', running: 1, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: shape(away({ topologyKey: 'failure-domain.beta.kubernetes.io/zone' })) },
      { on: 'n1', planned: 1, shape: shape(away()) },
    ];
    expect(findings(drafts)).toEqual([
      `anti-affinity default/1: 1 pods in ${z1}`,
      `anti-affinity default/2: 1 pods in ${z1}`,
    ]);
  });
});

describe('what a spread constraint sees', () => {
  test('two constraints alike but for minDomains are judged each by its own', () => {
    const two = THREE.slice(0, 2);
    const both = (minDomains: number) => shape(spreading(spread({ minDomains })), web);
    const even = { nodes: two };
    const alone = (minDomains: number) => [
      { on: 'n1', planned: 2, shape: both(minDomains) },
      { on: 'n2', planned: 1, shape: both(2) },
      { on: 'n2', running: 1, shape: shape(plain, web) },
    ];
    expect(findings(alone(1), even)).toEqual([]);
    expect(findings(alone(3), even)).toEqual([tooMany(z1)]);
  });

  test.each([
    ['node selectors', (kind: string): Partial<PodSpec> => ({ nodeSelector: { [KIND]: kind } })],
    [
      'node affinity',
      (kind: string): Partial<PodSpec> => {
        const matchExpressions = [{ key: KIND, operator: 'In', values: [kind] }];
        return {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
            },
          },
        };
      },
    ],
  ])('pods with one constraint and different %s see different domains', (_, on) => {
    const nodes = kinds('small', 'large', 'large');
    const drafts = [
      { on: 'n1', planned: 3, shape: shape(spreading(spread(), on('small')), web) },
      { on: 'n2', planned: 3, shape: shape(spreading(spread(), on('large')), web) },
    ];
    // Zone 1 is all that small nodes are in; beside zone 2 there is zone 3 with large ones.
    expect(findings(drafts, { nodes })).toEqual([tooMany(z2)]);
  });

  test('nodes that a pod may not be on count where its constraint ignores node rules, and only there', () => {
    const nodes = kinds('large', 'large', 'small');
    const policy = (nodeAffinityPolicy: string) =>
      shape(spreading(spread({ nodeAffinityPolicy }), { nodeSelector: { [KIND]: 'large' } }), web);
    const drafts = [
      { on: 'n1', planned: 2, shape: policy('Honor') },
      { on: 'n2', planned: 2, shape: policy('Ignore') },
    ];
    expect(findings(drafts, { nodes })).toEqual([tooMany(z2)]);
  });

  test('a constraint that honours taints sees the nodes that its pods tolerate, and others see others', () => {
    const tainted = { ...node('n2', 8, 32, { [ZONE]: z2 }), spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] } };
    const nodes = THREE.with(1, tainted).slice(0, 2);
    const honouring = spread({ nodeTaintsPolicy: 'Honor' });
    const tolerations = [{ key: 'own', operator: 'Exists' }];
    const crowded = (more: Partial<PodSpec>) =>
      findings([{ on: 'n1', planned: 2, shape: shape(spreading(honouring, more), web) }], { nodes });
    expect(crowded({})).toEqual([]);
    expect(crowded({ tolerations })).toEqual([tooMany(z1)]);
    const together = [
      { on: 'n1', planned: 1, shape: shape(spreading(honouring, { tolerations }), web) },
      { on: 'n1', planned: 1, shape: shape(spreading(honouring), web) },
    ];
    expect(findings(together, { nodes })).toEqual([]);
  });

  test('pods that run where taints keep the constraint away are not counted', () => {
    const starting = {
      ...node('n1', 8, 32, { [ZONE]: z1, 'karpenter.sh/nodepool': 'own' }),
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    };
    const nodes = [starting, ...THREE.slice(1, 2)];
    const drafts = (policy: string) => [
      { on: 'n1', running: 2, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: shape(spreading(spread({ nodeTaintsPolicy: policy })), web) },
    ];
    expect(findings(drafts('Honor'), { nodes })).toEqual([]);
    expect(findings(drafts('Ignore'), { nodes })).toEqual([tooMany(z1)]);
  });

  test('pods that the plan adds and that do not follow the rule may have come later', () => {
    const drafts = [
      { on: 'n1', planned: 2, shape: shape(spreading(spread()), web) },
      { on: 'n1', planned: 1, shape: shape(plain, web) },
    ];
    expect(findings(drafts)).toEqual([]);
    expect(findings(drafts.slice(0, 1))).toEqual([tooMany(z1)]);
  });

  test('uneven domains are told in the order of the nodes, whoever’s pods are there', () => {
    const one = shape(spreading(spread()), web);
    const drafts = [
      { on: 'n1', planned: 1, shape: one },
      { on: 'n3', planned: 5, shape: one },
      { on: 'n2', planned: 5, shape: shape(spreading(spread()), { ...web, tier: 'back' }) },
    ];
    expect(findings(drafts)).toEqual([tooMany(z2), tooMany(z3)]);
  });
});

describe('the domains that a spread compares', () => {
  const pools = { nodePools: [pool('general')], types: [size('Standard_D4_v5', 4, 16, 200_000)] };
  const inZones = (...values: ReadonlyArray<string>) => ({ matchExpressions: [{ key: ZONE, operator: 'In', values }] });
  const where = (...nodeSelectorTerms: ReadonlyArray<object>): Partial<PodSpec> => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const twoOn = (
    more: Partial<PodSpec>,
    cluster: Parameters<typeof input>[0] = {},
    drafts: ReadonlyArray<Draft> = [],
  ) =>
    findings([{ on: 'n1', planned: 2, shape: shape(spreading(spread(), more), web) }, ...drafts], {
      ...pools,
      nodes: THREE.slice(0, 1),
      ...cluster,
    });
  const elsewhere = { matchExpressions: [{ key: ZONE, operator: 'NotIn', values: [z2, z3] }] };

  test.each<readonly [string, Partial<PodSpec>]>([
    ['selects by label', { nodeSelector: { [ZONE]: z1 } }],
    ['selects by the deprecated label', { nodeSelector: { 'failure-domain.beta.kubernetes.io/zone': z1 } }],
    ['selects beside another label', { nodeSelector: { [ZONE]: z1, 'kubernetes.io/arch': 'amd64' } }],
    ['requires', where(inZones(z1))],
    ['requires by what it avoids', where(elsewhere)],
    ['requires by one term of two, from where it is', where(inZones(z1), inZones(z2))],
  ])('are those that a pod %s', (_, more) => {
    expect(twoOn(more)).toEqual([]);
  });

  test.for<readonly [string, Partial<PodSpec>, Parameters<typeof input>[0]?]>([
    ['that it requires nothing of', {}],
    ['that it only prefers not to be in', { affinity: { nodeAffinity: {} } }],
    ['that it selects by other labels', { nodeSelector: { 'kubernetes.io/arch': 'amd64' } }],
    ['that it requires beside its own', where(inZones(z1, z2))],
    ['that another term allows where a node is', where(inZones(z1), inZones(z2)), { nodes: THREE.slice(0, 2) }],
  ])('are also those of a pool %s', ([, more, cluster]) => {
    expect(twoOn(more, cluster)).toEqual([tooMany(z1)]);
  });

  test('are not those of a node that goes, when only another term allows them', () => {
    const [n1, n2] = THREE;
    if (n1 === undefined || n2 === undefined) throw new Error('two');
    const going = { ...n2, metadata: { ...n2.metadata, deletionTimestamp: '2026-12-01T00:00:00Z' } };
    expect(twoOn(where(inZones(z1), inZones(z2)), { nodes: [n1, going] })).toEqual([]);
  });

  test('are those of the term that the node meets, however full those of another are', () => {
    const full = [{ on: 'n2', running: 3, shape: shape(plain, web) }];
    const terms = where(inZones(z1, z3), inZones(z2));
    expect(twoOn(terms, { nodes: THREE.slice(0, 2) }, full)).toEqual([tooMany(z1)]);
  });

  test('are never all of them where each node is one', () => {
    const byHost = spread({ topologyKey: 'kubernetes.io/hostname' });
    const on = (planned: number) =>
      findings([{ on: 'n1', planned, shape: shape(spreading(byHost), web) }], { nodes: THREE.slice(0, 1) });
    expect(on(1)).toEqual([]);
    expect(on(2)).toEqual(['spread default: kubernetes.io/hostname n1 has too many pods']);
  });

  test('may differ by as many pods as the rule says, from the emptiest', () => {
    const there = THREE.map(({ metadata }) => ({ on: metadata.name, running: 1, shape: shape(plain, web) }));
    const more = (planned: number) => [...there, { on: 'n1', planned, shape: shape(spreading(spread()), web) }];
    expect(findings(more(1))).toEqual([]);
    expect(findings(more(2))).toEqual([tooMany(z1)]);
  });

  test('must all be known: one node without any is one too many', () => {
    const nodes = [...THREE, node('n4', 8, 32)];
    const one = shape(spreading(spread({ maxSkew: 5, nodeAffinityPolicy: 'Ignore' })), web);
    const both = [
      { on: 'n1', planned: 1, shape: one },
      { on: 'n4', planned: 1, shape: one },
    ];
    expect(findings(both, { nodes })).toEqual([`spread a node has no ${ZONE}`]);
  });

  test('count what runs there where the constraint honours taints and there are none', () => {
    const honouring = shape(spreading(spread({ nodeTaintsPolicy: 'Honor' })), web);
    const drafts = [
      { on: 'n1', running: 2, shape: shape(plain, web) },
      { on: 'n1', planned: 1, shape: honouring },
    ];
    expect(findings(drafts)).toEqual([tooMany(z1)]);
  });

  test.each<readonly [string, TopologySpreadConstraint]>([
    ['their skew', spread({ maxSkew: 2 })],
    ['what they think of taints', spread({ nodeTaintsPolicy: 'Honor' })],
    ['what they think of node rules', spread({ nodeAffinityPolicy: 'Ignore' })],
  ])('are not judged where pods of two rules that differ in %s may have come in any order', (_, other) => {
    const drafts = [
      { on: 'n1', planned: 3, shape: shape(spreading(spread()), web) },
      { on: 'n1', planned: 3, shape: shape(spreading(other), web) },
    ];
    expect(findings(drafts)).toEqual([]);
    expect(findings(drafts.slice(0, 1))).toEqual([tooMany(z1)]);
  });

  test('are counted by each rule for those that it selects', () => {
    const db = { app: 'db' };
    const drafts = [
      { on: 'n1', planned: 2, shape: shape(spreading(spread()), web) },
      { on: 'n1', planned: 1, shape: shape(spreading(spread({ labelSelector: like(db) })), db) },
    ];
    expect(findings(drafts)).toEqual([tooMany(z1)]);
  });

  test('are counted apart for what tells the owner’s pods from older ones', () => {
    const keyed = spread({ matchLabelKeys: ['version', 'track'] });
    const of = (version: string) => shape(spreading(keyed), { ...web, version });
    const older = { on: 'n1', running: 3, shape: shape(plain, { ...web, version: '1' }) };
    expect(findings([older, { on: 'n1', planned: 1, shape: of('2') }])).toEqual([]);
    expect(findings([older, { on: 'n1', planned: 1, shape: of('1') }])).toEqual([tooMany(z1)]);
  });
});

describe('whom a pod must be away from', () => {
  const apart = (labels: Readonly<Record<string, string>>, owner: PodShape, namespace = 'default') =>
    findings([
      { on: 'n1', running: 1, shape: shape(plain, labels, namespace) },
      { on: 'n1', planned: 1, shape: owner },
    ]);
  const found = (owner = 'default') => [`anti-affinity ${owner}/1: 1 pods in ${z1}`];

  test('are those of the namespaces that it names', () => {
    const owner = shape(away({ namespaces: ['red'] }), {}, 'blue');
    expect(apart(web, owner, 'red')).toEqual(found('blue'));
    expect(apart(web, owner, 'blue')).toEqual([]);
  });

  test('are nobody in a namespace that is not known, and nobody at all without a selector', () => {
    const everywhere = shape(away({ namespaceSelector: {} }), {}, 'blue');
    expect(apart(web, everywhere, 'red')).toEqual(found('blue'));
    expect(apart(web, everywhere, 'ghost')).toEqual([]);
    const { labelSelector: _, ...term } = { topologyKey: ZONE, labelSelector: undefined };
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    expect(apart(web, shape(spec('100m', '128Mi', { affinity: { podAntiAffinity } })))).toEqual([]);
  });

  test('are told by the owner’s own labels', () => {
    const same = shape(away({ matchLabelKeys: ['team'] }), { team: 'x' });
    expect(apart({ ...web, team: 'x' }, same)).toEqual(found());
    expect(apart({ ...web, team: 'y' }, same)).toEqual([]);
    const others = shape(away({ mismatchLabelKeys: ['team'] }), { team: 'x' });
    expect(apart({ ...web, team: 'y' }, others)).toEqual(found());
    expect(apart({ ...web, team: 'x' }, others)).toEqual([]);
    expect(apart({ ...web, team: 'x' }, shape(away({ mismatchLabelKeys: ['team'] })))).toEqual(found());
  });

  test('may be beside it already: that is not the plan’s fault', () => {
    const drafts = [
      { on: 'n1', running: 1, shape: shape(plain, web) },
      { on: 'n1', running: 1, shape: shape(away()) },
      { on: 'n2', planned: 1, shape: shape(plain) },
    ];
    expect(findings(drafts)).toEqual([]);
  });

  test('may come where it leaves', () => {
    const drafts = [
      { on: 'n1', leaving: 1, shape: shape(away()) },
      { on: 'n1', planned: 1, shape: shape(plain, web) },
    ];
    expect(findings(drafts)).toEqual([]);
  });
});

describe('whom a pod must be near', () => {
  const db = { app: 'db' };
  const near = (...selectors: ReadonlyArray<LabelSelector>): PodSpec => {
    const terms = selectors.map((labelSelector) => ({ topologyKey: ZONE, labelSelector }));
    return spec('100m', '128Mi', {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
    });
  };
  const alone = (zone: string) => [`affinity default/0: nothing that it must be near in ${zone}`];

  test('may be its like, of whom the first is near nobody', () => {
    const own = shape(near(like(web)), web);
    expect(findings([{ on: 'n1', planned: 1, shape: own }])).toEqual([]);
    expect(findings([{ on: 'n1', planned: 2, shape: own }])).toEqual([]);
    expect(findings([{ on: 'n1', planned: 1, running: 1, shape: own }])).toEqual([]);
  });

  test('may be its like: where two of these are far apart one is wrong, and where one came first the order decides', () => {
    const own = shape(near(like(web)), web);
    const apart = [
      { on: 'n1', planned: 1, shape: own },
      { on: 'n2', planned: 1, shape: own },
    ];
    expect(findings(apart)).toEqual(alone(z1));
    const after = [
      { on: 'n1', planned: 1, shape: own },
      { on: 'n2', running: 1, shape: shape(plain, web) },
    ];
    expect(findings(after)).toEqual(['affinity-start default/0 is alone']);
  });

  test('may come with it', () => {
    const drafts = [
      { on: 'n1', planned: 1, shape: shape(near(like(db)), web) },
      { on: 'n1', planned: 1, shape: shape(plain, db) },
    ];
    expect(findings(drafts)).toEqual([]);
  });

  test('may be gone from where others of its kind run', () => {
    const own = shape(near(like(db)), web);
    const drafts = [
      { on: 'n1', running: 1, shape: own },
      { on: 'n2', planned: 1, shape: own },
      { on: 'n2', running: 1, shape: shape(plain, db) },
    ];
    expect(findings(drafts)).toEqual([]);
  });

  test('are not only its like when it must be near others too', () => {
    expect(findings([{ on: 'n1', planned: 1, shape: shape(near(like(web), like(db)), web) }])).toEqual(alone(z1));
  });
});
