import { annotation, label } from '../../../contract/names.ts';
import type { Node, NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import { admitsLabels, toRules } from '../../../core/rules/label-rule.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { isTrue } from '../../facts/conditions.ts';

/** Karpenter's reasons for drift, in the order in which they are looked for. docs/disruption.md has a row for each. */
export const driftReasons = [
  'NodePoolDrifted',
  'RequirementsDrifted',
  'InstanceTypeNotFound',
  'NodeClassDrift',
  'K8sVersionDrift',
  'KubeletIdentityDrift',
  'ImageDrift',
] as const;

/** Why a node is no longer what its pool and class ask for. */
export interface Drift {
  readonly reason: (typeof driftReasons)[number];
  readonly message: string;
}

/** What drift is judged by. Null: it does not exist, and so nothing is said about it. */
export interface DriftFacts {
  readonly pool: NodePool | null;
  readonly nodeClass: NodeClass | null;
  readonly node: Node;
  /** Names of the instance types that the class can have now. */
  readonly instanceTypes: ReadonlySet<string>;
  /** Client id of the identity that new nodes get; null where it is not known. */
  readonly kubeletIdentity: string | null;
}

/**
 * The first reason in Karpenter's order (core first, then the Azure provider's); null when the node is as it should be.
 */
export function findDrift(claim: NodeClaim, facts: DriftFacts): Drift | null {
  const { pool, nodeClass } = facts;
  // A claim of its own, or one whose pool or class is gone, has nothing to differ from.
  if (pool === null || nodeClass === null) return null;
  return (
    poolDrift(claim, pool) ??
    typeDrift(claim, facts) ??
    classDrift(claim, nodeClass) ??
    versionDrift(nodeClass, facts.node) ??
    identityDrift(facts) ??
    imageDrift(claim, nodeClass)
  );
}

function poolDrift(claim: NodeClaim, pool: NodePool): Drift | null {
  if (hashesDiffer(claim, pool, annotation.nodePoolHash, annotation.nodePoolHashVersion)) {
    return { reason: 'NodePoolDrifted', message: `the template of NodePool ${pool.metadata.name} has changed` };
  }
  const rules = toRules(pool.spec.template.spec.requirements);
  if (admitsLabels(rules, claim.metadata.labels ?? {})) return null;
  return {
    reason: 'RequirementsDrifted',
    message: `the requirements of NodePool ${pool.metadata.name} no longer allow it`,
  };
}

function typeDrift(claim: NodeClaim, { instanceTypes }: DriftFacts): Drift | null {
  const type = claim.metadata.labels?.[label.instanceType];
  if (type === undefined || instanceTypes.size === 0 || instanceTypes.has(type)) return null;
  return { reason: 'InstanceTypeNotFound', message: `${type} is no longer offered` };
}

function classDrift(claim: NodeClaim, nodeClass: NodeClass): Drift | null {
  if (!hashesDiffer(claim, nodeClass, annotation.nodeClassHash, annotation.nodeClassHashVersion)) return null;
  return { reason: 'NodeClassDrift', message: `AKSNodeClass ${nodeClass.metadata.name} has changed` };
}

function versionDrift(nodeClass: NodeClass, node: Node): Drift | null {
  // Before the class has settled, its version and images say nothing about the node.
  if (!isTrue(nodeClass.status?.conditions, 'Ready')) return null;
  const { kubernetesVersion } = nodeClass.status ?? {};
  const kubelet = node.status?.nodeInfo?.kubeletVersion?.replace(/^v/, '');
  if (kubelet === undefined || kubernetesVersion === undefined || kubelet === kubernetesVersion) return null;
  return { reason: 'K8sVersionDrift', message: `its kubelet is ${kubelet}, the cluster is ${kubernetesVersion}` };
}

/** A node without the label was not made by us, or by a version that did not know the identity. */
function identityDrift({ node, kubeletIdentity }: DriftFacts): Drift | null {
  const identity = node.metadata.labels?.[label.kubeletIdentity] ?? '';
  if (identity === '' || kubeletIdentity === null) return null;
  if (identity.toLowerCase() === kubeletIdentity.toLowerCase()) return null;
  return {
    reason: 'KubeletIdentityDrift',
    message: `its kubelet has the identity ${identity}, new nodes have ${kubeletIdentity}`,
  };
}

function imageDrift(claim: NodeClaim, nodeClass: NodeClass): Drift | null {
  if (!isTrue(nodeClass.status?.conditions, 'Ready')) return null;
  const { images: newest = [] } = nodeClass.status ?? {};
  const image = claim.status?.imageID ?? '';
  if (image === '' || newest.length === 0) return null;
  if (newest.some(({ id }) => id.toLowerCase() === image.toLowerCase())) return null;
  return { reason: 'ImageDrift', message: `its image ${image} is not the newest` };
}

/** Only hashes of one version can be compared: a new version is stamped again and means no change. */
function hashesDiffer(
  claim: NodeClaim,
  other: { readonly metadata: NodeClaim['metadata'] },
  hash: string,
  version: string,
): boolean {
  const [ours, theirs] = [claim.metadata.annotations ?? {}, other.metadata.annotations ?? {}];
  if ([ours[hash], theirs[hash], ours[version], theirs[version]].includes(undefined)) return false;
  return ours[version] === theirs[version] && ours[hash] !== theirs[hash];
}
