import {
  good,
  goodChange,
  linux,
  manyKeys,
  many,
  nodeClassRef,
  pool,
  poolOf,
  refused,
  refusedChange,
  unusable,
  type ApiObject,
  type Case,
} from './case.ts';

const template = 'spec.template.spec';
const labels = 'spec.template.metadata.labels';
const budgets = 'spec.disruption.budgets';

const labelled = (values: unknown): ApiObject => poolOf({}, { labels: values });
const labelledBy = (key: string): ApiObject => labelled({ [key]: 'x' });
const referring = (change: Readonly<Record<string, unknown>>): ApiObject =>
  poolOf({ nodeClassRef: { ...nodeClassRef, ...change } });
const disrupted = (disruption: unknown): ApiObject => pool({ disruption });
const budgeted = (...each: ReadonlyArray<unknown>): ApiObject => disrupted({ consolidateAfter: '0s', budgets: each });
const tainted = (...taints: ReadonlyArray<unknown>): ApiObject => poolOf({ taints });
const fixed = (spec: Readonly<Record<string, unknown>>): ApiObject => pool({ replicas: 1, ...spec });

const objectCases: ReadonlyArray<Case> = [
  good('pool: a template with class and requirements is enough', pool()),
  refused('pool: a pool has a spec', { ...pool(), spec: undefined }, 'spec'),
  refused('pool: a spec is a map', { ...pool(), spec: 'x' }, 'spec'),
  refused('pool: a spec has a template', { ...pool(), spec: {} }, 'spec.template'),
  refused('pool: a template has a spec', pool({ template: {} }), template),
  refused('pool: a name is lower case', { ...pool(), metadata: { name: 'General' } }, 'metadata.name'),
  refused('pool: an object has a name', { ...pool(), metadata: {} }, 'metadata.name'),
  good('pool: a name may have dots', { ...pool(), metadata: { name: 'general.blue' } }),
  refused(
    'pool: a name has at most 253 characters',
    { ...pool(), metadata: { name: 'a'.repeat(254) } },
    'metadata.name',
  ),
  refused(
    "pool: the object's own labels have valid values",
    { ...pool(), metadata: { name: 'general', labels: { a: 'b c' } } },
    'metadata.labels[a]',
  ),
  refused(
    "pool: the object's own labels have valid keys",
    { ...pool(), metadata: { name: 'general', labels: { 'a b': 'c' } } },
    'metadata.labels[a b]',
  ),
  refused(
    "pool: the object's own annotations have valid keys",
    { ...pool(), metadata: { name: 'general', annotations: { 'a b': 'c' } } },
    'metadata.annotations[a b]',
  ),
  good('pool: fields that are not known are dropped', pool({ surprise: true })),
];

const referenceCases: ReadonlyArray<Case> = [
  refused('pool: a template refers to a class', poolOf({ nodeClassRef: undefined }), `${template}.nodeClassRef`),
  ...['group', 'kind', 'name'].flatMap((field) => [
    refused(
      `pool: the ${field} of a class is not empty`,
      referring({ [field]: '' }),
      `${template}.nodeClassRef.${field}`,
    ),
    refused(
      `pool: the ${field} of a class is there`,
      referring({ [field]: undefined }),
      `${template}.nodeClassRef.${field}`,
    ),
    refused(`pool: the ${field} of a class is text`, referring({ [field]: 1 }), `${template}.nodeClassRef.${field}`),
  ]),
  refused(
    'pool: the group of a class has no version',
    referring({ group: 'a.b/v1' }),
    `${template}.nodeClassRef.group`,
  ),
  refusedChange(
    'pool: the group of a class does not change',
    pool(),
    referring({ group: 'b' }),
    `${template}.nodeClassRef`,
  ),
  refusedChange(
    'pool: the kind of a class does not change',
    pool(),
    referring({ kind: 'B' }),
    `${template}.nodeClassRef`,
  ),
  goodChange('pool: the name of a class may change', pool(), referring({ name: 'other' })),
];

const labelCases: ReadonlyArray<Case> = [
  good('pool: nodes may have labels', labelled({ team: 'a', 'example.com/env': 'prod' })),
  good('pool: a label may be empty', labelled({ team: '' })),
  refused('pool: labels are text', labelled({ team: 1 }), `${labels}[team]`),
  refused('pool: a label has at most 63 characters', labelled({ team: 'a'.repeat(64) }), `${labels}[team]`),
  refused('pool: a label has no spaces', labelled({ team: 'a b' }), `${labels}[team]`),
  good('pool: up to 100 labels', labelled(manyKeys(100, 'x'))),
  refused('pool: no more than 100 labels', labelled(manyKeys(101, 'x')), labels),
  good('pool: nodes may have annotations', poolOf({}, { annotations: { 'example.com/a': 'any text at all' } })),
  refused('pool: annotations are text', poolOf({}, { annotations: { a: 1 } }), 'spec.template.metadata.annotations[a]'),
  good('pool: the capacity type may be a label', labelledBy('karpenter.sh/capacity-type')),
  refused('pool: the pool itself may not be a label', labelledBy('karpenter.sh/nodepool'), labels),
  refused('pool: labels of karpenter.sh are closed', labelledBy('karpenter.sh/initialized'), labels),
  refused('pool: labels of sub-domains of karpenter.sh are closed', labelledBy('a.karpenter.sh/b'), labels),
  refused('pool: the host name may not be a label', labelledBy('kubernetes.io/hostname'), labels),
  good('pool: labels of kubernetes.io are open', labelledBy('node-restriction.kubernetes.io/a')),
  good('pool: open Azure labels may be set', labelledBy('karpenter.azure.com/sku-family')),
  refused('pool: other Azure labels may not be set', labelledBy('karpenter.azure.com/a'), labels),
  good('pool: the mode may be set', labelledBy('kubernetes.azure.com/mode')),
  good('pool: the eBPF data plane may be set', labelledBy('kubernetes.azure.com/ebpf-dataplane')),
  refused('pool: other AKS labels may not be set', labelledBy('kubernetes.azure.com/a'), labels),
  ...['agentpool', 'storageprofile', 'storagetier', 'accelerator'].map((key) =>
    refused(`pool: the old AKS label ${key} may not be set`, labelledBy(key), labels),
  ),
  unusable('pool: the key of a label is a qualified name', labelledBy('a b'), `${labels}[a b]`),
  unusable(
    'pool: the name in the key of a label has at most 63 characters',
    labelledBy('a'.repeat(64)),
    `${labels}[${'a'.repeat(64)}]`,
  ),
  unusable(
    'pool: the node class label is set by the pool itself',
    labelledBy('karpenter.azure.com/aksnodeclass'),
    `${labels}[karpenter.azure.com/aksnodeclass]`,
  ),
];

const taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };

const taintCases: ReadonlyArray<Case> = [
  good('pool: nodes may be tainted', tainted(taint)),
  good('pool: a taint needs no value', tainted({ key: 'a', effect: 'NoExecute' })),
  good('pool: a taint may have a time', tainted({ ...taint, timeAdded: '2026-08-01T12:00:00Z' })),
  refused(
    'pool: the time of a taint is one',
    tainted({ ...taint, timeAdded: 'noon' }),
    `${template}.taints[0].timeAdded`,
  ),
  refused('pool: a taint has a key', tainted({ effect: 'NoExecute' }), `${template}.taints[0].key`),
  refused('pool: the key of a taint is not empty', tainted({ ...taint, key: '' }), `${template}.taints[0].key`),
  refused(
    'pool: the key of a taint is a qualified name',
    tainted({ ...taint, key: 'a b' }),
    `${template}.taints[0].key`,
  ),
  refused(
    'pool: the value of a taint is a qualified name',
    tainted({ ...taint, value: '???' }),
    `${template}.taints[0].value`,
  ),
  refused('pool: a taint has an effect', tainted({ key: 'a' }), `${template}.taints[0].effect`),
  refused('pool: the effect of a taint exists', tainted({ ...taint, effect: 'NoFun' }), `${template}.taints[0].effect`),
  good('pool: the effect may be PreferNoSchedule', tainted({ ...taint, effect: 'PreferNoSchedule' })),
  good('pool: one key may have two effects', tainted(taint, { ...taint, effect: 'NoExecute' })),
  unusable('pool: a key and effect is there once', tainted(taint, { ...taint, value: 'web' }), `${template}.taints[1]`),
  unusable(
    'pool: a key and effect is there once over both lists',
    poolOf({ taints: [taint], startupTaints: [taint] }),
    `${template}.startupTaints[0]`,
  ),
  unusable(
    'pool: the key of a taint has at most 63 characters',
    tainted({ ...taint, key: 'a'.repeat(64) }),
    `${template}.taints[0].key`,
  ),
  unusable(
    'pool: the value of a taint has at most 63 characters',
    tainted({ ...taint, value: 'a'.repeat(64) }),
    `${template}.taints[0].value`,
  ),
  good('pool: nodes may start tainted', poolOf({ startupTaints: [taint] })),
  refused(
    'pool: startup taints have effects that exist',
    poolOf({ startupTaints: [{ ...taint, effect: 'x' }] }),
    `${template}.startupTaints[0].effect`,
  ),
];

const durations = ['30s', '5m', '720h', '1h30m', '1h30m10s', '0s', '90m90m'];
const noDurations = ['', '30', '1d', '-5m', '1.5h', '100ms', ' 5m'];

const durationCases: ReadonlyArray<Case> = [
  ...durations.flatMap((text) => [
    good(`pool: expireAfter may be ${text}`, poolOf({ expireAfter: text })),
    good(`pool: terminationGracePeriod may be ${text}`, poolOf({ terminationGracePeriod: text })),
    good(`pool: consolidateAfter may be ${text}`, disrupted({ consolidateAfter: text })),
  ]),
  ...noDurations.flatMap((text) => [
    refused(`pool: expireAfter may not be "${text}"`, poolOf({ expireAfter: text }), `${template}.expireAfter`),
    refused(
      `pool: terminationGracePeriod may not be "${text}"`,
      poolOf({ terminationGracePeriod: text }),
      `${template}.terminationGracePeriod`,
    ),
    refused(
      `pool: consolidateAfter may not be "${text}"`,
      disrupted({ consolidateAfter: text }),
      'spec.disruption.consolidateAfter',
    ),
  ]),
  good('pool: nodes may expire never', poolOf({ expireAfter: 'Never' })),
  good('pool: nodes may be consolidated never', disrupted({ consolidateAfter: 'Never' })),
  refused(
    'pool: a grace period ends',
    poolOf({ terminationGracePeriod: 'Never' }),
    `${template}.terminationGracePeriod`,
  ),
  good('pool: a null where there is a default is the default', poolOf({ expireAfter: null })),
  good('pool: a null where there is no default is dropped', pool({ weight: null })),
];

const window = { nodes: '1', schedule: '0 9 * * 1-5', duration: '8h' };

const disruptionCases: ReadonlyArray<Case> = [
  refused('pool: disruption says when', disrupted({}), 'spec.disruption.consolidateAfter'),
  ...['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'].map((consolidationPolicy) =>
    good(`pool: the policy may be ${consolidationPolicy}`, disrupted({ consolidateAfter: '0s', consolidationPolicy })),
  ),
  refused(
    'pool: the policy is one that exists',
    disrupted({ consolidateAfter: '0s', consolidationPolicy: 'WhenUnderutilized' }),
    'spec.disruption.consolidationPolicy',
  ),
  good('pool: no budgets are no limit', budgeted()),
  good('pool: a budget without nodes is 10%', budgeted({})),
  ...['0', '5', '1000', '0%', '10%', '99%', '100%'].map((nodes) =>
    good(`pool: a budget may be ${nodes}`, budgeted({ nodes })),
  ),
  ...['101%', '1000%', '-1', '1.5', '5 %', '%', '', 'all'].map((nodes) =>
    refused(`pool: a budget may not be "${nodes}"`, budgeted({ nodes }), `${budgets}[0].nodes`),
  ),
  refused('pool: a budget is text', budgeted({ nodes: 5 }), `${budgets}[0].nodes`),
  ...['Underutilized', 'Empty', 'Drifted'].map((reason) =>
    good(`pool: a budget may be for ${reason}`, budgeted({ nodes: '1', reasons: [reason] })),
  ),
  refused(
    'pool: a budget is for a reason that exists',
    budgeted({ nodes: '1', reasons: ['Old'] }),
    `${budgets}[0].reasons[0]`,
  ),
  refused(
    'pool: a reason is there once',
    budgeted({ nodes: '1', reasons: ['Empty', 'Empty'] }),
    `${budgets}[0].reasons[1]`,
  ),
  good('pool: a budget may have a schedule', budgeted(window)),
  refused('pool: a schedule needs a duration', budgeted({ ...window, duration: undefined }), budgets),
  refused('pool: a duration needs a schedule', budgeted({ ...window, schedule: undefined }), budgets),
  ...['annually', 'yearly', 'monthly', 'weekly', 'daily', 'midnight', 'hourly'].map((name) =>
    good(`pool: a schedule may be @${name}`, budgeted({ ...window, schedule: `@${name}` })),
  ),
  refused('pool: a schedule has five fields', budgeted({ ...window, schedule: '* * * *' }), `${budgets}[0].schedule`),
  refused('pool: a schedule is not a time', budgeted({ ...window, schedule: '@reboot' }), `${budgets}[0].schedule`),
  ...['5m', '8h', '1h30m', '1h30m0s', '8h0s'].map((duration) =>
    good(`pool: a budget may last ${duration}`, budgeted({ ...window, duration })),
  ),
  ...['30s', '1d', '30m1h', '1h30m5s'].map((duration) =>
    refused(`pool: a budget may not last ${duration}`, budgeted({ ...window, duration }), `${budgets}[0].duration`),
  ),
  good('pool: up to 50 budgets', budgeted(...many(50).map(() => ({ nodes: '1' })))),
  refused('pool: no more than 50 budgets', budgeted(...many(51).map(() => ({ nodes: '1' }))), budgets),
];

const quantities = ['1', '0.5', '.5', '1.', '100m', '1Ki', '16Gi', '2e3', '+1', '-1', '1E', '5n', 4, 0, -1];
const noQuantities = ['', 'x', '1 Gi', '1gi', '1,5', '1KiB', 1.5, true];

const limitCases: ReadonlyArray<Case> = [
  ...quantities.map((cpu) => good(`pool: a limit may be ${JSON.stringify(cpu)}`, pool({ limits: { cpu } }))),
  ...noQuantities.map((cpu) =>
    refused(`pool: a limit may not be ${JSON.stringify(cpu)}`, pool({ limits: { cpu } }), 'spec.limits[cpu]'),
  ),
  good(
    'pool: any resource may be limited, nodes among them',
    pool({ limits: { cpu: 1, nodes: 5, 'nvidia.com/gpu': 2 } }),
  ),
  good('pool: weight goes from 1', pool({ weight: 1 })),
  good('pool: weight goes to 100', pool({ weight: 100 })),
  refused('pool: weight is at least 1', pool({ weight: 0 }), 'spec.weight'),
  refused('pool: weight is at most 100', pool({ weight: 101 }), 'spec.weight'),
  refused('pool: weight is a whole number', pool({ weight: 1.5 }), 'spec.weight'),
  refused('pool: weight is not text', pool({ weight: '1' }), 'spec.weight'),
];

const staticCases: ReadonlyArray<Case> = [
  good('pool: a static pool may have no nodes', pool({ replicas: 0 })),
  good('pool: a static pool may have many', pool({ replicas: 5000 })),
  refused('pool: a static pool does not owe nodes', pool({ replicas: -1 }), 'spec.replicas'),
  good('pool: a static pool may limit its nodes', fixed({ limits: { nodes: 3 } })),
  good('pool: a static pool may have an empty list of limits', fixed({ limits: {} })),
  refused('pool: a static pool may not limit CPU', fixed({ limits: { cpu: 3 } }), 'spec'),
  refused('pool: a static pool may not limit CPU besides nodes', fixed({ limits: { cpu: 3, nodes: 3 } }), 'spec'),
  refused('pool: a static pool has no weight', fixed({ weight: 1 }), 'spec'),
  refusedChange('pool: a pool does not become static', pool(), pool({ replicas: 1 }), 'spec'),
  refusedChange('pool: a pool does not cease to be static', pool({ replicas: 1 }), pool(), 'spec'),
  goodChange('pool: a static pool may grow', pool({ replicas: 1 }), pool({ replicas: 2 })),
  goodChange('pool: requirements may change', pool(), poolOf({ requirements: [linux] })),
];

/** NodePools, but for their requirements. */
export const nodePoolCases: ReadonlyArray<Case> = [
  ...objectCases,
  ...referenceCases,
  ...labelCases,
  ...taintCases,
  ...durationCases,
  ...disruptionCases,
  ...limitCases,
  ...staticCases,
];
