import type {
  LabelSelector,
  Labels,
  NodeSelectorTerm,
  PodSpec,
  SelectorRequirement,
} from '../../../kubernetes/manifest.ts';
import type { Taint, Toleration } from '../../../kubernetes/manifest.ts';
import { normalizeKey } from '../../../kubernetes/labels.ts';

/** Possible values per label: one for what is certain, several where the launch decides. No entry: no such label. */
export type PossibleLabels = ReadonlyMap<string, ReadonlyArray<string>>;

/** Can a node with these labels meet the expression? Written for the audit alone, from the API's description. */
export function meets(labels: PossibleLabels, { key, operator, values = [] }: SelectorRequirement): boolean {
  const present = labels.get(normalizeKey(key));
  switch (operator) {
    case 'In':
      return present !== undefined && present.some((value) => values.includes(value));
    case 'NotIn':
      return present === undefined || present.some((value) => !values.includes(value));
    case 'Exists':
      return present !== undefined;
    case 'DoesNotExist':
      return present === undefined;
    default:
      return present !== undefined && present.some((value) => compares(value, operator, values[0]));
  }
}

function compares(value: string, operator: string, bound: string | undefined): boolean {
  const [a, b] = [Number(value), Number(bound)];
  if (!Number.isInteger(a) || !Number.isInteger(b) || value === '' || bound === '') return false;
  if (operator === 'Gt') return a > b;
  if (operator === 'Gte') return a >= b;
  if (operator === 'Lt') return a < b;
  return operator === 'Lte' && a <= b;
}

/** A term without expressions is met by no node. `name`: the node's, for matchFields. */
export function meetsTerm(labels: PossibleLabels, term: NodeSelectorTerm, name: string): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  if (!matchExpressions.every((one) => meets(labels, one))) return false;
  return matchFields.every((one) => meets(new Map([['metadata.name', [name]]]), one));
}

/** The pod's node selector and required node affinity. */
export function meetsNodeRules(labels: PossibleLabels, spec: PodSpec, name: string): boolean {
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (!meets(labels, { key, operator: 'In', values: [value] })) return false;
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => meetsTerm(labels, term, name));
}

/** Does a label selector select an object? A missing selector selects nothing. */
export function selected(selector: LabelSelector | null | undefined, labels: Labels): boolean {
  if (selector === null || selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!Object.entries(matchLabels).every(([key, value]) => labels[key] === value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'In') return value !== undefined && values.includes(value);
    if (operator === 'NotIn') return value === undefined || !values.includes(value);
    return operator === 'Exists' ? value !== undefined : operator === 'DoesNotExist' && value === undefined;
  });
}

/** The first taint that keeps the pod off the node; PreferNoSchedule never does. */
export function blockingTaint(
  taints: ReadonlyArray<Taint>,
  tolerations: ReadonlyArray<Toleration> | undefined,
): Taint | null {
  const blocks = (taint: Taint): boolean =>
    taint.effect !== 'PreferNoSchedule' && tolerations?.some((one) => covers(one, taint)) !== true;
  return taints.find(blocks) ?? null;
}

function covers({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  const sameEffect = effect === undefined || effect === '' || effect === taint.effect;
  const anyKey = (key === undefined || key === '') && operator === 'Exists';
  const sameValue = operator === 'Exists' || (value ?? '') === (taint.value ?? '');
  return sameEffect && (anyKey || (key === taint.key && sameValue));
}
