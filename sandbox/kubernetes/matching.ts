import type {
  LabelSelector,
  NodeSelectorTerm,
  SelectorRequirement,
  Toleration,
} from '../../shared/kubernetes/manifest.ts';
import type { Node, Pod, StringMap, Taint } from './client/objects.ts';

/** True when the labels satisfy one requirement of a label or node selector; an unknown operator matches nothing. */
export function matchesRequirement({ key, operator, values }: SelectorRequirement, labels: StringMap): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values?.[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values?.[0]);
    default:
      return false;
  }
}

/** True when the labels satisfy the selector: an absent one matches nothing, an empty one everything. */
export function matchesSelector(selector: LabelSelector | undefined, labels: StringMap | undefined): boolean {
  if (selector === undefined) return false;
  const own = labels ?? {};
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) if (own[key] !== value) return false;
  return (selector.matchExpressions ?? []).every((requirement) => matchesRequirement(requirement, own));
}

/** True when the node satisfies a node selector term; a term without any requirement matches no node. */
export function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const fields: StringMap = { 'metadata.name': node.metadata.name };
  return (
    matchExpressions.every((requirement) => matchesRequirement(requirement, node.metadata.labels ?? {})) &&
    matchFields.every((requirement) => matchesRequirement(requirement, fields))
  );
}

/** True when the pod's node selector and required node affinity allow the node. */
export function matchesNodeAffinity({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** True when the toleration covers the taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== '' && toleration.effect !== taint.effect) return false;
  if (toleration.key !== undefined && toleration.key !== '' && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Lt':
      return Number(taint.value) < Number(toleration.value);
    case 'Gt':
      return Number(taint.value) > Number(toleration.value);
    default:
      return false;
  }
}

/** The first of the node's taints with one of the effects that no toleration covers. */
export function untolerated(
  tolerations: ReadonlyArray<Toleration> | undefined,
  taints: ReadonlyArray<Taint> | undefined,
  effects: ReadonlyArray<string>,
): Taint | undefined {
  return taints?.find(
    (taint) =>
      effects.includes(taint.effect) && !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}
