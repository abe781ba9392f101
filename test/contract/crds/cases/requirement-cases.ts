import {
  claim,
  good,
  linux,
  many,
  overlay,
  poolOf,
  poolRequiring,
  refused,
  unusable,
  type ApiObject,
  type Case,
} from './case.ts';

type Build = (requirements: unknown) => ApiObject;

const at = 'spec.template.spec.requirements';
const exists = (key: string) => ({ key, operator: 'Exists' });

/** Rules that pools, claims and overlays share. */
function sharedCases(kind: string, build: Build, path: string): ReadonlyArray<Case> {
  const one = (requirement: unknown): ApiObject => build([requirement]);
  return [
    good(`${kind}: no requirements are requirements`, build([])),
    good(`${kind}: In may list values`, one(linux)),
    refused(`${kind}: requirements are a list`, build({}), path),
    refused(`${kind}: requirements must be there`, build(undefined), path),
    refused(`${kind}: a null list of requirements is a missing one`, build(null), path),
    refused(`${kind}: In needs a value`, one({ key: 'a', operator: 'In', values: [] }), path),
    refused(`${kind}: In needs the field values`, one({ key: 'a', operator: 'In' }), path),
    good(`${kind}: Exists needs no values`, one(exists('a'))),
    good(`${kind}: DoesNotExist needs no values`, one({ key: 'a', operator: 'DoesNotExist' })),
    refused(
      `${kind}: an operator must be one that exists`,
      one({ key: 'a', operator: 'Maybe' }),
      `${path}[0].operator`,
    ),
    refused(`${kind}: a requirement has an operator`, one({ key: 'a' }), `${path}[0].operator`),
    refused(`${kind}: a requirement has a key`, one({ operator: 'Exists' }), `${path}[0].key`),
    refused(`${kind}: values are strings`, one({ key: 'a', operator: 'In', values: [1] }), `${path}[0].values[0]`),
    ...['Gt', 'Lt', 'Gte', 'Lte'].flatMap((operator) => [
      good(`${kind}: ${operator} compares with a whole number`, one({ key: 'a', operator, values: ['4'] })),
      good(`${kind}: ${operator} compares with zero`, one({ key: 'a', operator, values: ['0'] })),
      refused(`${kind}: ${operator} needs a value`, one({ key: 'a', operator, values: [] }), path),
      refused(`${kind}: ${operator} needs the field values`, one({ key: 'a', operator }), path),
      refused(`${kind}: ${operator} takes one value only`, one({ key: 'a', operator, values: ['1', '2'] }), path),
      refused(`${kind}: ${operator} does not compare with words`, one({ key: 'a', operator, values: ['a'] }), path),
      refused(`${kind}: ${operator} does not compare below zero`, one({ key: 'a', operator, values: ['-1'] }), path),
      refused(
        `${kind}: ${operator} does not compare with fractions`,
        one({ key: 'a', operator, values: ['1.5'] }),
        path,
      ),
    ]),
    refused(
      `${kind}: a compared number has 64 bits`,
      one({ key: 'a', operator: 'Gt', values: ['9223372036854775808'] }),
      path,
    ),
    good(
      `${kind}: a compared number may use all of 64 bits`,
      one({ key: 'a', operator: 'Gt', values: ['9223372036854775807'] }),
    ),
    good(`${kind}: up to 100 requirements`, build(many(100).map(exists))),
    refused(`${kind}: no more than 100 requirements`, build(many(101).map(exists)), path),
    good(`${kind}: a key may have a DNS prefix`, one(exists('example.com/a'))),
    refused(`${kind}: the prefix of a key is lower case`, one(exists('Example.com/a')), `${path}[0].key`),
    refused(`${kind}: a key has one slash at most`, one(exists('a/b/c')), `${path}[0].key`),
    refused(`${kind}: a key does not end in a slash`, one(exists('example.com/')), `${path}[0].key`),
    refused(`${kind}: a key does not begin with a slash`, one(exists('/a')), `${path}[0].key`),
    refused(`${kind}: a key is not longer than 316 characters`, one(exists('a'.repeat(317))), `${path}[0].key`),
    ...labelKeyCases(kind, one, path),
  ];
}

/** Which keys are open. */
function labelKeyCases(kind: string, one: (requirement: unknown) => ApiObject, path: string): ReadonlyArray<Case> {
  return [
    good(
      `${kind}: the capacity type may be required`,
      one({ ...linux, key: 'karpenter.sh/capacity-type', values: ['spot'] }),
    ),
    refused(
      `${kind}: other labels of karpenter.sh are closed`,
      one(exists('karpenter.sh/initialized')),
      `${path}[0].key`,
    ),
    refused(`${kind}: sub-domains of karpenter.sh are closed`, one(exists('sub.karpenter.sh/a')), `${path}[0].key`),
    refused(`${kind}: domains that end in karpenter.sh are closed`, one(exists('mykarpenter.sh/a')), `${path}[0].key`),
    good(`${kind}: kubernetes.io is open`, one(exists('kubernetes.io/a'))),
    good(`${kind}: sub-domains of k8s.io are open`, one(exists('sub.k8s.io/a'))),
    refused(`${kind}: the host name is closed`, one(exists('kubernetes.io/hostname')), `${path}[0].key`),
    ...['sku-name', 'sku-family', 'sku-series', 'sku-version', 'sku-cpu', 'sku-memory', 'sku-gpu-name'].map((name) =>
      good(`${kind}: the Azure label ${name} is open`, one(exists(`karpenter.azure.com/${name}`))),
    ),
    ...['sku-networking-accelerated', 'sku-storage-premium-capable', 'sku-storage-ultra-ssd', 'placement-scope'].map(
      (name) => good(`${kind}: the Azure label ${name} is open`, one(exists(`karpenter.azure.com/${name}`))),
    ),
    ...['sku-storage-ephemeralos-maxsize', 'sku-gpu-manufacturer', 'sku-gpu-count'].map((name) =>
      good(`${kind}: the Azure label ${name} is open`, one(exists(`karpenter.azure.com/${name}`))),
    ),
    refused(`${kind}: other Azure labels are closed`, one(exists('karpenter.azure.com/a')), `${path}[0].key`),
    refused(
      `${kind}: the hypervisor generation is closed`,
      one(exists('karpenter.azure.com/sku-hyperv-generation')),
      `${path}[0].key`,
    ),
    ...['mode', 'scalesetpriority', 'priority', 'fips_enabled', 'os-sku', 'cluster', 'sku-cpu', 'sku-memory'].map(
      (name) => good(`${kind}: the AKS label ${name} is open`, one(exists(`kubernetes.azure.com/${name}`))),
    ),
    ...['ebpf-dataplane', 'ebpf-host-routing', 'hostedvm'].map((name) =>
      good(`${kind}: the AKS label ${name} is open`, one(exists(`kubernetes.azure.com/${name}`))),
    ),
    refused(`${kind}: other AKS labels are closed`, one(exists('kubernetes.azure.com/agentpool')), `${path}[0].key`),
    ...['agentpool', 'storageprofile', 'storagetier', 'accelerator'].map((key) =>
      refused(`${kind}: the old AKS label ${key} is closed`, one(exists(key)), `${path}[0].key`),
    ),
  ];
}

/** Rules on `minValues`, which pools and claims have. */
function minValuesCases(kind: string, build: Build, path: string): ReadonlyArray<Case> {
  const inMany = (count: number, minValues: unknown): ApiObject =>
    build([{ key: 'a', operator: 'In', values: many(count), minValues }]);
  return [
    good(`${kind}: minValues may equal the number of values`, inMany(2, 2)),
    refused(`${kind}: minValues is not above the number of values`, inMany(2, 3), path),
    good(`${kind}: minValues goes up to 50`, inMany(50, 50)),
    refused(`${kind}: minValues does not exceed 50`, inMany(51, 51), `${path}[0].minValues`),
    refused(`${kind}: minValues is at least 1`, inMany(2, 0), `${path}[0].minValues`),
    refused(`${kind}: minValues is a whole number`, inMany(2, 1.5), `${path}[0].minValues`),
    refused(`${kind}: minValues is not text`, inMany(2, '1'), `${path}[0].minValues`),
    good(`${kind}: minValues of Exists is not compared`, build([{ key: 'a', operator: 'Exists', minValues: 5 }])),
  ];
}

const notIn = { key: 'a', operator: 'NotIn', values: [] as ReadonlyArray<string> };

/** Requirements of every kind that has them. */
export const requirementCases: ReadonlyArray<Case> = [
  ...sharedCases('pool', (requirements) => poolOf({ requirements }), at),
  ...sharedCases('claim', (requirements) => claim({ requirements }), 'spec.requirements'),
  ...sharedCases('overlay', (requirements) => overlay({ requirements }), 'spec.requirements'),
  ...minValuesCases('pool', (requirements) => poolOf({ requirements }), at),
  ...minValuesCases('claim', (requirements) => claim({ requirements }), 'spec.requirements'),
  good('pool: NotIn of nothing excludes nothing', poolRequiring(notIn)),
  refused('overlay: NotIn needs a value', overlay({ requirements: [notIn] }), 'spec.requirements'),
  refused(
    'overlay: NotIn needs the field values',
    overlay({ requirements: [{ ...notIn, values: undefined }] }),
    'spec.requirements',
  ),
  good('overlay: minValues is not known and dropped', overlay({ requirements: [{ ...linux, minValues: 99 }] })),
  refused('pool: a pool may not require a pool', poolRequiring(exists('karpenter.sh/nodepool')), `${at}[0].key`),
  good('claim: a claim may require its pool', claim({ requirements: [exists('karpenter.sh/nodepool')] })),
  good('overlay: an overlay may require a pool', overlay({ requirements: [exists('karpenter.sh/nodepool')] })),
  ...runtimeCases(),
];

function inOf(key: string, values: ReadonlyArray<string>, minValues?: number): ApiObject {
  return poolRequiring({ key, operator: 'In', values, ...(minValues === undefined ? {} : { minValues }) });
}

/** What only Karpenter sees. */
function runtimeCases(): ReadonlyArray<Case> {
  return [
    unusable('pool: a value is a label value', inOf('a', ['b c']), `${at}[0].values[0]`),
    unusable('pool: a value is not longer than 63 characters', inOf('a', ['b'.repeat(64)]), `${at}[0].values[0]`),
    good('pool: a value may be empty', inOf('a', [''])),
    unusable(
      'pool: the name in a key is not longer than 63 characters',
      poolRequiring(exists('a'.repeat(64))),
      `${at}[0].key`,
    ),
    unusable(
      'pool: a compared number has no sign',
      poolRequiring({ key: 'a', operator: 'Gt', values: ['+5'] }),
      `${at}[0].values[0]`,
    ),
    unusable(
      'pool: the node class label is set by the pool',
      poolRequiring(exists('karpenter.azure.com/aksnodeclass')),
      `${at}[0].key`,
    ),
    unusable(
      'pool: the network policy label is set by AKS',
      poolRequiring(exists('kubernetes.azure.com/network-policy')),
      `${at}[0].key`,
    ),
    ...knownValueCases(),
    good('pool: values of other labels are not known', inOf('node.kubernetes.io/instance-type', ['Standard_D4s_v5'])),
    good('pool: an old key stands for the new one', poolRequiring({ ...linux, key: 'beta.kubernetes.io/os' })),
    unusable(
      'overlay: a value is a label value',
      overlay({ requirements: [{ ...linux, values: ['b c'] }] }),
      'spec.requirements[0].values[0]',
    ),
    unusable(
      'overlay: one capacity type at least must exist',
      overlay({ requirements: [{ ...linux, key: 'karpenter.sh/capacity-type', values: ['cheap'] }] }),
      'spec.requirements[0].values',
    ),
    good(
      'claim: values of a claim are those of the provisioner and not judged',
      claim({ requirements: [{ ...linux, values: ['b c'] }] }),
    ),
  ];
}

/** Labels whose values are known. */
function knownValueCases(): ReadonlyArray<Case> {
  return [
    unusable(
      'pool: one capacity type at least must exist',
      inOf('karpenter.sh/capacity-type', ['cheap']),
      `${at}[0].values`,
    ),
    good(
      'pool: reserved is a capacity type, which the Azure provider refuses and Karpenter itself does not',
      inOf('karpenter.sh/capacity-type', ['reserved']),
    ),
    good(
      'pool: a capacity type that does not exist is ignored beside one that does',
      inOf('karpenter.sh/capacity-type', ['spot', 'cheap']),
    ),
    unusable(
      'pool: minValues counts values that exist',
      inOf('karpenter.sh/capacity-type', ['spot', 'cheap'], 2),
      `${at}[0].values`,
    ),
    good(
      'pool: NotIn may name values that do not exist',
      poolRequiring({ key: 'karpenter.sh/capacity-type', operator: 'NotIn', values: ['cheap'] }),
    ),
    unusable(
      'pool: a placement scope must exist',
      inOf('karpenter.azure.com/placement-scope', ['rack']),
      `${at}[0].values`,
    ),
    unusable(
      'pool: GPUs are of nvidia or amd',
      inOf('karpenter.azure.com/sku-gpu-manufacturer', ['acme']),
      `${at}[0].values`,
    ),
    unusable(
      'pool: a switch is true or false',
      inOf('karpenter.azure.com/sku-networking-accelerated', ['yes']),
      `${at}[0].values`,
    ),
    unusable(
      'pool: premium storage is true or false',
      inOf('karpenter.azure.com/sku-storage-premium-capable', ['yes']),
      `${at}[0].values`,
    ),
    unusable(
      'pool: ultra disks are true or false',
      inOf('karpenter.azure.com/sku-storage-ultra-ssd', ['yes']),
      `${at}[0].values`,
    ),
    unusable('pool: a mode is system or user', inOf('kubernetes.azure.com/mode', ['both']), `${at}[0].values`),
    unusable(
      'pool: a scale set priority is regular or spot',
      inOf('kubernetes.azure.com/scalesetpriority', ['low']),
      `${at}[0].values`,
    ),
    unusable('pool: a priority is regular or spot', inOf('kubernetes.azure.com/priority', ['low']), `${at}[0].values`),
    unusable(
      'pool: an OS is Ubuntu or AzureLinux',
      inOf('kubernetes.azure.com/os-sku', ['Windows']),
      `${at}[0].values`,
    ),
    unusable(
      'pool: FIPS is on or not required',
      inOf('kubernetes.azure.com/fips_enabled', ['false']),
      `${at}[0].values`,
    ),
  ];
}
