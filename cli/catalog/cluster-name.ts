import { admits, toRule } from '../../shared/core/rules/label-rule.ts';
import { label } from '../../shared/contract/names.ts';
import type { Snapshot } from '../../shared/contract/snapshot/parse.ts';
import type { SelectorRequirement } from '../../shared/kubernetes/manifest.ts';

/** The name that nodes of the cluster carry as `kubernetes.azure.com/cluster`, and what had to be assumed of it. */
export interface ClusterName {
  readonly name: string;
  readonly notes: ReadonlyArray<string>;
}

/** Where nothing says a name. */
const UNKNOWN = 'offline';

type Given = Pick<Snapshot, 'nodes' | 'nodePools' | 'shapes'>;

/**
 * AKS puts the name of the node resource group on all nodes. Nodes that are given tell it; else pods and pools that ask
 * for a name mean their own cluster, and the first that they ask for is taken.
 */
export function clusterNameOf(given: Given): ClusterName {
  const onNodes = given.nodes.flatMap(({ metadata }) => metadata.labels?.[label.azureCluster] ?? []);
  if (onNodes[0] !== undefined) return { name: onNodes[0], notes: [] };
  const asked = [...new Set(requirementsOn(given).flatMap(namesIn))].toSorted();
  const [name] = asked;
  if (name === undefined) return { name: UNKNOWN, notes: [] };
  const among = asked.length === 1 ? '' : `, the first of ${asked.length} that are asked for (${asked.join(', ')})`;
  const note = `${label.azureCluster}: ${name} is taken to be the name of this cluster${among}: AKS gives its nodes that of the node resource group`;
  return { name, notes: [note] };
}

function requirementsOn({ nodePools, shapes }: Given): ReadonlyArray<SelectorRequirement> {
  const ofPods = shapes.flatMap(({ spec: { nodeSelector = {}, affinity } }) => {
    const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
    return [...required.flatMap(({ matchExpressions = [] }) => matchExpressions), ...asRequirements(nodeSelector)];
  });
  const ofPools = nodePools.flatMap(({ spec: { template } }) => [
    ...template.spec.requirements,
    ...asRequirements(template.metadata?.labels ?? {}),
  ]);
  return [...ofPods, ...ofPools].filter(({ key }) => key === label.azureCluster);
}

function asRequirements(labels: Readonly<Record<string, string>>): ReadonlyArray<SelectorRequirement> {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
}

/** Names that the requirement lets in by name. */
function namesIn(requirement: SelectorRequirement): ReadonlyArray<string> {
  return (requirement.values ?? []).filter((one) => one !== '' && admits(toRule(requirement), one));
}
