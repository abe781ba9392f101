import type { Static } from 'typebox';
import { ageColumn, type KindDefinition } from '../schema/kind.ts';
import { localDnsSchema } from './local-dns.ts';
import type { ObjectMeta } from '../schema/object-meta.ts';
import { plainConditions } from '../schema/parts.ts';
import {
  bool,
  choice,
  fields,
  int32,
  int64,
  list,
  optional,
  rule,
  stringMap,
  text,
  type Frozen,
  type Keywords,
  type Rule,
} from '../schema/schema.ts';
import { countCodePoints } from '../schema/structural.ts';
import { sysctlsSchema } from './sysctls.ts';

/** Source of every bound, default and rule: karpenter-provider-azure 2026-08, v1beta1. */

const size: Keywords = { pattern: '^\\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$', fix: 'write a size such as 50Mi or 2Gi' };

const SUBNET_ID =
  '(?i)^\\/subscriptions\\/[^\\/]+\\/resourceGroups\\/[a-zA-Z0-9_\\-().]{0,89}[a-zA-Z0-9_\\-()]\\/providers\\/Microsoft\\.Network\\/virtualNetworks\\/[^\\/]+\\/subnets\\/[^\\/]+$';

type Tags = Readonly<Record<string, string>>;

const tagRules: ReadonlyArray<Rule> = [
  rule<Tags>('self.all(k, size(k) <= 512)', 'tags keys must be less than 512 characters', 'shorten the key', (self) =>
    Object.keys(self).every((key) => countCodePoints(key) <= 512),
  ),
  rule<Tags>(
    "self.all(k, !k.matches('[<>%&?]'))",
    "tags keys must not contain '<', '>', '%', '&', or '?'",
    'remove these characters from the key',
    (self) => Object.keys(self).every((key) => !/[<>%&?]/u.test(key)),
  ),
  rule<Tags>(
    "self.all(k, !k.contains('\\\\'))",
    "tags keys must not contain '\\'",
    'remove the backslash from the key',
    (self) => Object.keys(self).every((key) => !key.includes('\\')),
  ),
  rule<Tags>(
    'self.all(k, size(self[k]) <= 256)',
    'tags values must be less than 256 characters',
    'shorten the value',
    (self) => Object.values(self).every((value) => countCodePoints(value) <= 256),
  ),
];

const percent: Keywords = { minimum: 0, maximum: 100 };

const kubeletSchema = fields(
  'Settings of the kubelet.',
  {
    cpuManagerPolicy: optional(
      choice('Whether pods can have whole CPUs to themselves.', ['none', 'static'], { default: 'none' }),
    ),
    cpuCFSQuota: optional(bool('Whether CPU limits are enforced.', { default: true })),
    cpuCFSQuotaPeriod: optional(text('Period of CPU limits, from 1ms to 1s.', { default: '100ms' })),
    imageGCHighThresholdPercent: optional(
      int32('Disk usage in percent above which unused images are removed.', percent),
    ),
    imageGCLowThresholdPercent: optional(int32('Disk usage in percent down to which images are removed.', percent)),
    topologyManagerPolicy: optional(
      choice('How CPUs and devices of a pod are aligned.', ['restricted', 'best-effort', 'none', 'single-numa-node'], {
        default: 'none',
      }),
    ),
    allowedUnsafeSysctls: optional(
      list(
        'Kernel settings that pods may change; a name may end in *.',
        text('A kernel setting, or a pattern of some.'),
      ),
    ),
    containerLogMaxSize: optional(
      text('Size at which the log of a container is rotated.', { default: '50Mi', ...size }),
    ),
    containerLogMaxFiles: optional(int32('Most log files of a container.', { default: 5, minimum: 2 })),
    podPidsLimit: optional(int64('Most processes of a pod; -1 for no limit.')),
    failSwapOn: optional(bool('Whether the kubelet refuses to run where there is swap.')),
  },
  {
    'x-kubernetes-validations': [
      rule<{ readonly imageGCHighThresholdPercent?: number; readonly imageGCLowThresholdPercent?: number }>(
        'has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ? self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent : true',
        'imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent',
        'raise the high threshold or lower the low one',
        ({ imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low }) =>
          high === undefined || low === undefined || high > low,
      ),
    ],
  },
);

const securitySchema = fields('Security of the virtual machine.', {
  encryptionAtHost: optional(bool('Whether disks and caches are encrypted on the host too.')),
  trustedLaunch: optional(
    fields('Protection of the boot. On when one of its parts is.', {
      vtpm: optional(bool('Whether the machine has a virtual TPM.')),
      secureBoot: optional(bool('Whether only signed boot components run.')),
    }),
  ),
});

const linuxOsConfigSchema = fields('Settings of the Linux operating system.', {
  swapFileSize: optional(text('Size of the swap file. Needs kubelet.failSwapOn: false.', size)),
  sysctls: optional(sysctlsSchema),
  transparentHugePageDefrag: optional(
    choice('When memory is compacted for huge pages.', ['always', 'defer', 'defer+madvise', 'madvise', 'never']),
  ),
  transparentHugePageEnabled: optional(choice('Which memory may use huge pages.', ['always', 'madvise', 'never'])),
});

interface ImageChoice {
  readonly fipsMode?: string;
  readonly imageFamily?: string;
  readonly security?: { readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean } };
}

const TRUSTED_LAUNCH =
  '(has(self.security) && has(self.security.trustedLaunch) && ((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot)))';
const FIPS = "(has(self.fipsMode) && self.fipsMode == 'FIPS')";

/** Whether a node class asks for trusted launch: at least one of its parts is on. */
export function hasTrustedLaunch({ security }: ImageChoice): boolean {
  return security?.trustedLaunch?.vtpm === true || security?.trustedLaunch?.secureBoot === true;
}

const specRules: ReadonlyArray<Rule> = [
  rule<ImageChoice>(
    `${FIPS} ? (has(self.imageFamily) && self.imageFamily != 'Ubuntu2404') : true`,
    'FIPS is not yet supported for Ubuntu2404',
    'choose another imageFamily, or fipsMode Disabled',
    (self) => self.fipsMode !== 'FIPS' || (self.imageFamily !== undefined && self.imageFamily !== 'Ubuntu2404'),
  ),
  rule<ImageChoice>(
    `${FIPS} && has(self.imageFamily) && self.imageFamily == 'Ubuntu2204' ? ${TRUSTED_LAUNCH} : true`,
    'FIPS with Ubuntu2204 requires trusted launch',
    'set security.trustedLaunch.vtpm or secureBoot to true',
    (self) => self.fipsMode !== 'FIPS' || self.imageFamily !== 'Ubuntu2204' || hasTrustedLaunch(self),
  ),
  rule<ImageChoice>(
    `${FIPS} && ${TRUSTED_LAUNCH} ? (!has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204']) : true`,
    'FIPS with trusted launch is only supported for Ubuntu and Ubuntu2204',
    'choose imageFamily Ubuntu or Ubuntu2204',
    (self) =>
      self.fipsMode !== 'FIPS' ||
      !hasTrustedLaunch(self) ||
      ['Ubuntu', 'Ubuntu2204'].includes(self.imageFamily ?? 'Ubuntu'),
  ),
  rule<{
    readonly linuxOSConfig?: { readonly swapFileSize?: string };
    readonly kubelet?: { readonly failSwapOn?: boolean };
  }>(
    '!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || (has(self.kubelet) && has(self.kubelet.failSwapOn) && self.kubelet.failSwapOn == false)',
    'kubelet.failSwapOn must be set to false when linuxOSConfig.swapFileSize is specified',
    'set kubelet.failSwapOn to false',
    (self) => self.linuxOSConfig?.swapFileSize === undefined || self.kubelet?.failSwapOn === false,
  ),
];

const specSchema = fields(
  'How virtual machines of the class are made.',
  {
    vnetSubnetID: optional(
      text('Subnet of the network interfaces, as a resource id. Absent: the subnet of the cluster.', {
        pattern: SUBNET_ID,
        fix: 'write /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/virtualNetworks/<name>/subnets/<name>',
      }),
    ),
    osDiskSizeGB: optional(int32('Size of the OS disk in GB.', { default: 128, minimum: 30, maximum: 2048 })),
    imageFamily: optional(
      choice('Family of the node image.', ['Ubuntu', 'Ubuntu2204', 'Ubuntu2404', 'AzureLinux'], { default: 'Ubuntu' }),
    ),
    fipsMode: optional(choice('Whether only FIPS 140 validated cryptography is used.', ['FIPS', 'Disabled'])),
    tags: optional(
      stringMap('Tags of the Azure resources. Changed in place.', { 'x-kubernetes-validations': tagRules }),
    ),
    kubelet: optional(kubeletSchema),
    maxPods: optional(
      int32('Most pods of a node. Absent: what the network plugin of the cluster allows.', {
        minimum: 10,
        maximum: 250,
      }),
    ),
    security: optional(securitySchema),
    localDNS: optional(localDnsSchema),
    gpu: optional(
      fields('Settings of nodes with GPUs.', {
        mode: optional(
          choice('Driver: AKS installs the driver, where it can. None: someone else does.', ['Driver', 'None'], {
            default: 'Driver',
          }),
        ),
      }),
    ),
    artifactStreaming: optional(
      fields('Container images that are fetched while they run.', {
        enabled: optional(bool('Whether images are streamed. Absent: no. Not on arm64.')),
      }),
    ),
    linuxOSConfig: optional(linuxOsConfigSchema),
  },
  { 'x-kubernetes-validations': specRules },
);

const imageSchema = fields('A node image and the instance types that can run it.', {
  id: text('Id of the image version.'),
  requirements: list(
    'Conditions on the instance type.',
    fields('One condition on the labels of an instance type.', {
      key: text('Label key.'),
      operator: text('How the label relates to the values.'),
      values: optional(
        list('Values for the operator.', text('A label value.'), { 'x-kubernetes-list-type': 'atomic' }),
      ),
    }),
  ),
});

const statusSchema = fields('What was found out about the class.', {
  images: optional(list('Images of new nodes, the preferred one first.', imageSchema)),
  kubernetesVersion: optional(text('Kubernetes version of new nodes.')),
  localDNSState: optional(choice('What localDNS.mode comes to on this cluster.', ['Enabled', 'Disabled'])),
  conditions: plainConditions,
});

/** Spec of an AKSNodeClass. */
export interface AksNodeClassSpec extends Frozen<Static<typeof specSchema>> {}
/** Status of an AKSNodeClass. */
export interface AksNodeClassStatus extends Frozen<Static<typeof statusSchema>> {}

/** How virtual machines of a set of nodes are made. */
export interface AksNodeClass {
  readonly apiVersion: string;
  readonly kind: 'AKSNodeClass';
  readonly metadata: ObjectMeta;
  readonly spec: AksNodeClassSpec;
  readonly status?: AksNodeClassStatus;
}

/** AKSNodeClass, as its CRD has it. Both versions have the same fields. */
export const aksNodeClassKind: KindDefinition = {
  group: 'karpenter.azure.com',
  kind: 'AKSNodeClass',
  plural: 'aksnodeclasses',
  shortNames: ['aksnc', 'aksncs'],
  categories: ['karpenter', 'nap'],
  scope: 'Cluster',
  versions: [
    { name: 'v1beta1', deprecationWarning: null },
    { name: 'v1alpha2', deprecationWarning: 'use v1beta1.AKSNodeClass instead' },
  ],
  columns: [
    { name: 'Ready', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    ageColumn,
    { name: 'ImageFamily', type: 'string', jsonPath: '.spec.imageFamily', priority: 1 },
  ],
  scale: null,
  description: 'How virtual machines of a set of nodes are made.',
  spec: specSchema,
  specRequired: false,
  moved: {},
  status: statusSchema,
};
