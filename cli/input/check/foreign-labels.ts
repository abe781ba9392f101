/** Domains of labels by which other clouds choose machines. */
const DOMAINS: ReadonlyArray<string> = [
  'eks.amazonaws.com/',
  'karpenter.k8s.aws/',
  'karpenter.k8s.gcp/',
  'karpenter.k8s.alibabacloud/',
];

/** What they mean by the rest of such a key, as a label of Azure's sizes. */
const ON_AZURE: Readonly<Record<string, string>> = {
  'instance-category': 'karpenter.azure.com/sku-family',
  'instance-cpu': 'karpenter.azure.com/sku-cpu',
  'instance-family': 'karpenter.azure.com/sku-series',
  'instance-generation': 'karpenter.azure.com/sku-version',
  'instance-gpu-count': 'karpenter.azure.com/sku-gpu-count',
  'instance-gpu-manufacturer': 'karpenter.azure.com/sku-gpu-manufacturer',
  'instance-gpu-name': 'karpenter.azure.com/sku-gpu-name',
  'instance-memory': 'karpenter.azure.com/sku-memory',
};

/** What there is to say of a label by which another cloud would choose machines; null for all others. */
export function foreignLabel(key: string): string | null {
  const domain = DOMAINS.find((one) => key.startsWith(one));
  if (domain === undefined) return null;
  const instead = ON_AZURE[key.slice(domain.length)];
  const azure = instead === undefined ? 'no label of Azure’s sizes is like it' : `on Azure it is ${instead}`;
  return `${key} is a label of your own here, and chooses no size (${azure})`;
}
