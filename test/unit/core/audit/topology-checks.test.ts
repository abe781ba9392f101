import { describe, expect, test } from 'vitest';
import type { Pod, PodShape } from '../../../../shared/core/model/cluster.ts';
import type {
  LabelSelector,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from '../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Nomination, Plan } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input, node, shape, spec, zones } from '../build.ts';

/**
 * What the audit says of pods that are put on nodes by hand. It reads the final state once, by shape, by label, by domain
 * and by what constraints see; each rule here is one that a wrong reading would break.
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
