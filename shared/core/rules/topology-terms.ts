import type { PodShape } from '../model/cluster.ts';
import type { LabelSelector, Labels, PodAffinityTerm, TopologySpreadConstraint } from '../../kubernetes/manifest.ts';
import { normalizeKey } from '../../kubernetes/labels.ts';

/** Which pods a topology rule looks at: those in `namespaces` that `selector` selects. */
export interface PodSet {
  readonly namespaces: ReadonlyArray<string>;
  /** Namespaces by their labels, beside the listed ones; null for none. */
  readonly namespaceSelector: LabelSelector | null;
  /** Null selects nothing. */
  readonly selectors: ReadonlyArray<LabelSelector | null>;
}

/** The pods that a spread constraint of `shape` counts. */
export function spreadPods(shape: PodShape, constraint: TopologySpreadConstraint): PodSet {
  const { labelSelector, matchLabelKeys } = constraint;
  const selector =
    labelSelector === undefined ? null : withLabelKeys(labelSelector, shape.labels, matchLabelKeys, 'In');
  return { namespaces: [shape.namespace], namespaceSelector: null, selectors: [selector] };
}

/** The pods that an affinity or anti-affinity term of `shape` looks for. */
export function termPods(shape: PodShape, term: PodAffinityTerm): PodSet {
  const { namespaces, namespaceSelector, labelSelector, matchLabelKeys, mismatchLabelKeys } = term;
  const own = (namespaces ?? []).length === 0 && namespaceSelector === undefined;
  let selector = labelSelector ?? null;
  if (selector !== null) selector = withLabelKeys(selector, shape.labels, matchLabelKeys, 'In');
  if (selector !== null) selector = withLabelKeys(selector, shape.labels, mismatchLabelKeys, 'NotIn');
  return {
    namespaces: own ? [shape.namespace] : (namespaces ?? []),
    namespaceSelector: namespaceSelector ?? null,
    selectors: [selector],
  };
}

/** What tells one rule from another: equal texts count the same pods in the same domains. */
export function termId(key: string, pods: PodSet, filter: unknown): string {
  const namespaces = pods.namespaces.toSorted();
  return JSON.stringify([normalizeKey(key), namespaces, pods.namespaceSelector, pods.selectors, filter]);
}

/**
 * The API server of 1.34 and later has added these already; twice does no harm. Keys that the pod lacks are ignored.
 */
function withLabelKeys(
  selector: LabelSelector,
  labels: Labels,
  keys: ReadonlyArray<string> | undefined,
  operator: 'In' | 'NotIn',
): LabelSelector {
  const more = (keys ?? []).flatMap((key) => {
    const value = labels[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  return more.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...more] };
}
