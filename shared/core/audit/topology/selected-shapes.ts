import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { LabelSelector, PodAffinityTerm } from '../../../kubernetes/manifest.ts';
import { normalizeKey } from '../../../kubernetes/labels.ts';
import { selected } from '../seen/matching.ts';
import { tallyByDomain, type PodsByShape, type Tally } from './pods-by-shape.ts';

/** The shapes of pods that a rule looks for, and where those pods are. */
export interface SelectedPods {
  readonly shapes: ReadonlySet<number>;
  /** How many there are per domain of the key; counted once. */
  readonly tallies: (key: string) => ReadonlyMap<string, Tally>;
}

/** Which pods the rules look for. Rules that say the same share one result, also those of different owners. */
export interface ShapeFinder {
  /** Whom the term of a pod of shape `owner` looks for. */
  readonly byTerm: (owner: PodShape, term: PodAffinityTerm) => SelectedPods;
  /** Whom the selector selects in the namespace. */
  readonly byLabels: (namespace: string, selector: LabelSelector | null) => SelectedPods;
}

/** Looks among the shapes that have pods on nodes. */
export function findShapes({ namespaces }: Pick<Cluster, 'namespaces'>, pods: PodsByShape): ShapeFinder {
  const groups = byNamespace(pods.shapes);
  const labelsOf = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  const known = new Map<string, SelectedPods>();
  const once = (id: unknown, find: () => Iterable<number>): SelectedPods => {
    const text = JSON.stringify(id);
    const sought = known.get(text) ?? toSelectedPods(pods, new Set(find()));
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    known.set(text, sought);
    return sought;
  };
  const inNamespace = (namespace: string, selector: LabelSelector | null): ReadonlyArray<number> =>
    selector === null ? [] : shapesSelected(groups.get(namespace), selector, pods.shapes);
  const inNamespaces = (term: PodAffinityTerm, selector: LabelSelector | null): ReadonlyArray<number> => {
    const { namespaces: named = [], namespaceSelector } = term;
    const meant = [...groups.keys()].filter((namespace) => {
      const labels = labelsOf.get(namespace);
      return named.includes(namespace) || (labels !== undefined && selected(namespaceSelector, labels));
    });
    return meant.flatMap((namespace) => inNamespace(namespace, selector));
  };
  return {
    byLabels: (namespace, selector) => once([namespace, selector], () => inNamespace(namespace, selector)),
    byTerm: (owner, term) => {
      const { namespaces: named = [], namespaceSelector, labelSelector, matchLabelKeys, mismatchLabelKeys } = term;
      const selector = withLabelKeys(labelSelector, owner, { match: matchLabelKeys, mismatch: mismatchLabelKeys });
      const { namespace } = owner;
      return named.length === 0 && namespaceSelector === undefined
        ? once([namespace, selector], () => inNamespace(namespace, selector))
        : once([named, namespaceSelector, selector], () => inNamespaces(term, selector));
    },
  };
}

/** The selector with what the owner's own labels add to it. */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  owner: PodShape,
  keys: { readonly match?: ReadonlyArray<string> | undefined; readonly mismatch?: ReadonlyArray<string> | undefined },
): LabelSelector | null {
  if (selector === undefined) return null;
  const more = (list: ReadonlyArray<string> | undefined, operator: string) =>
    (list ?? [])
      .filter((key) => key in owner.labels)
      .map((key) => ({ key, operator, values: [owner.labels[key] ?? ''] }));
  const matchExpressions = [
    ...(selector.matchExpressions ?? []),
    ...more(keys.match, 'In'),
    ...more(keys.mismatch, 'NotIn'),
  ];
  return { ...selector, matchExpressions };
}

function toSelectedPods(pods: PodsByShape, shapes: ReadonlySet<number>): SelectedPods {
  const counted = new Map<string, ReadonlyMap<string, Tally>>();
  return {
    shapes,
    tallies: (stated) => {
      const key = normalizeKey(stated);
      const tallies = counted.get(key) ?? tallyByDomain(pods, shapes, key);
      // Stryker disable next-line CallExpression: what is not kept is worked out again
      counted.set(key, tallies);
      return tallies;
    },
  };
}

/** The shapes of one namespace, all of them and by each label that they have: key, then value. */
interface ShapesOfNamespace {
  readonly all: Array<number>;
  readonly byLabel: Map<string, Map<string, Array<number>>>;
}

function byNamespace(shapes: ReadonlyMap<number, PodShape>): ReadonlyMap<string, ShapesOfNamespace> {
  const groups = new Map<string, ShapesOfNamespace>();
  for (const [shape, { namespace, labels }] of shapes) {
    const group: ShapesOfNamespace = groups.get(namespace) ?? { all: [], byLabel: new Map() };
    groups.set(namespace, group);
    group.all.push(shape);
    for (const [key, value] of Object.entries(labels)) {
      const values = group.byLabel.get(key) ?? new Map<string, Array<number>>();
      group.byLabel.set(key, values);
      const those = values.get(value) ?? [];
      values.set(value, those);
      those.push(shape);
    }
  }
  return groups;
}

/**
 * What of a selector names values narrows the shapes down by their labels; the selector itself judges those that are
 * left.
 */
function shapesSelected(
  group: ShapesOfNamespace | undefined,
  selector: LabelSelector,
  shapes: ReadonlyMap<number, PodShape>,
): ReadonlyArray<number> {
  if (group === undefined) return [];
  const having = (key: string, values: Iterable<string>): ReadonlyArray<number> =>
    [...values].flatMap((value) => group.byLabel.get(key)?.get(value) ?? []);
  let candidates: ReadonlyArray<number> = group.all;
  // Stryker disable next-line BlockStatement: fewer to look at, the selector judges each
  const narrow = (those: ReadonlyArray<number>): void => {
    // Stryker disable next-line ConditionalExpression,EqualityOperator: fewer to look at, the selector judges each
    if (those.length < candidates.length) candidates = those;
  };
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) narrow(having(key, [value]));
  // Stryker disable next-line BlockStatement,LogicalOperator: fewer to look at, the selector judges each
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    // Stryker disable next-line ConditionalExpression,CallExpression: fewer to look at, the selector judges each
    if (operator === 'In') narrow(having(key, values));
  }
  return candidates.filter((shape) => selected(selector, shapes.get(shape)?.labels ?? {}));
}
