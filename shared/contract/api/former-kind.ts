/** How to go on with an object that Karpenter once read, and does no longer. */
export interface FormerKind {
  readonly message: string;
  readonly fix: string;
}

const POOL =
  'write a NodePool of karpenter.sh/v1, with a nodeClassRef to an AKSNodeClass of karpenter.azure.com/v1beta1';
const CLASS = 'write an AKSNodeClass of karpenter.azure.com/v1beta1, and let nodeClassRef of the NodePools name it';

/** By `kind apiVersion`. Source: Karpenter's migration guides to v1beta1 and to v1. */
const FORMER: ReadonlyMap<string, string> = new Map([
  ['Provisioner karpenter.sh/v1alpha5', POOL],
  ['NodePool karpenter.sh/v1beta1', POOL],
  ['Machine karpenter.sh/v1alpha5', 'leave it out: its NodePool makes NodeClaims of karpenter.sh/v1'],
  [
    'NodeClaim karpenter.sh/v1beta1',
    'leave it out, or give it as the cluster has it, as a NodeClaim of karpenter.sh/v1',
  ],
  ['AWSNodeTemplate karpenter.k8s.aws/v1alpha1', CLASS],
  ['EC2NodeClass karpenter.k8s.aws/v1beta1', CLASS],
]);

/** Null for all other objects. */
export function formerKind(apiVersion: string, kind: string): FormerKind | null {
  const fix = FORMER.get(`${kind} ${apiVersion}`);
  return fix === undefined ? null : { message: `${kind} of ${apiVersion} is no longer read`, fix };
}
