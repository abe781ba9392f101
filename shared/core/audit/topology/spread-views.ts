import type { PodShape } from '../../model/cluster.ts';
import type { NodeSelectorTerm, TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { blockingTaint, meets, meetsNodeRules, meetsTerm, selected } from '../seen/matching.ts';
import type { PodsByShape } from './pods-by-shape.ts';
import { withLabelKeys, type SelectedPods } from './selected-shapes.ts';

/** What of a pod a spread constraint lets decide which nodes it looks at. */
export interface Honored {
  readonly nodeRules: boolean;
  readonly taints: boolean;
}

/** Domains of a key that the pools can offer to a pod, by nodes that the constraint looks at. */
export type OfferedDomains = (key: string, shape: PodShape, honored: Honored) => ReadonlyArray<string>;

/**
 * The pods that an earlier plan has promised the node at this place, where they come before or with those of this one.
 */
export type ExpectedOn = (at: number) => ReadonlyArray<PodShape>;

/**
 * What a pod sees of a spread constraint: the pods that it counts per domain, and the fewest in a domain open to it.
 */
export interface SpreadView {
  readonly counts: ReadonlyMap<string, number>;
  /** In the emptiest domain that any required term of the pod allows. */
  readonly least: number;
  /**
   * The same for the term that allows fewest of those that the node meets: what pools could offer to another term does
   * not count then, nodes that are there do. A node planned elsewhere may have come later.
   */
  readonly leastFrom: (node: FinalNode) => number;
  /** Of hosts: the fewest on any that stays. `least` counts one without pods, which can always come. */
  readonly leastOnHosts: number;
}

/** What pods of the shape see when their constraint counts those that it looks for. */
export type ViewOf = (shape: PodShape, constraint: TopologySpreadConstraint, sought: SelectedPods) => SpreadView;

/** Computed from what is known of the nodes. Pods whose node rules and tolerations are alike see the same. */
export function spreadViews(
  nodes: ReadonlyArray<FinalNode>,
  pods: PodsByShape,
  { offered, expectedOn }: { readonly offered: OfferedDomains; readonly expectedOn: ExpectedOn },
): ViewOf {
  const fields = new Map<string, SpreadField>();
  const views = new Map<SelectedPods, Map<string, SpreadView>>();
  return (shape, constraint, sought) => {
    const id = fieldId(shape, constraint);
    const field = fields.get(id) ?? readField({ nodes, pods, offered }, shape, constraint);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    fields.set(id, field);
    const ofSought = views.get(sought) ?? new Map<string, SpreadView>();
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    views.set(sought, ofSought);
    const viewId = `${constraint.minDomains ?? 1} ${id}`;
    const view = ofSought.get(viewId) ?? toView(field, pods, constraint, { shape, sought, expectedOn });
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    ofSought.set(viewId, view);
    return view;
  };
}

/** How a constraint looks at the nodes, before it is known whom it counts. */
interface SpreadField {
  /** The domain of each node that the constraint counts on; null for all others. */
  readonly domains: ReadonlyArray<string | null>;
  /** Does it count the pods that are on the node already? */
  readonly seesRunning: ReadonlyArray<boolean>;
  /** Is the node there, or made by this plan or step, and not leaving? */
  readonly stays: ReadonlyArray<boolean>;
  /** The domains that a pod with the constraint could be in; null where that many domains are always open to it. */
  readonly open: ReadonlyArray<string> | null;
  /** What each of several required terms leaves of them, and the domains of nodes that are there. */
  readonly byTerm: ReadonlyArray<{ readonly term: NodeSelectorTerm; readonly open: ReadonlyArray<string> }>;
}

/** All of shape and constraint that makes the field what it is. */
function fieldId({ spec }: PodShape, constraint: TopologySpreadConstraint): string {
  const key = normalizeKey(constraint.topologyKey);
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const tolerations = honorsTaints(constraint) ? (spec.tolerations ?? []) : null;
  return JSON.stringify([key, honorsNodeRules(constraint), spec.nodeSelector, required, tolerations]);
}

function honorsNodeRules({ nodeAffinityPolicy }: TopologySpreadConstraint): boolean {
  return (nodeAffinityPolicy ?? 'Honor') === 'Honor';
}

function honorsTaints({ nodeTaintsPolicy }: TopologySpreadConstraint): boolean {
  return nodeTaintsPolicy === 'Honor';
}

function readField(
  {
    nodes,
    pods,
    offered,
  }: { readonly nodes: ReadonlyArray<FinalNode>; readonly pods: PodsByShape; readonly offered: OfferedDomains },
  shape: PodShape,
  constraint: TopologySpreadConstraint,
): SpreadField {
  const key = normalizeKey(constraint.topologyKey);
  const byTaints = honorsTaints(constraint);
  const honored = { nodeRules: honorsNodeRules(constraint), taints: byTaints };
  const { tolerations } = shape.spec;
  const all = pods.domainsOf(key);
  const domains = nodes.map((node, at) => (looksAt(node, shape, constraint) ? (all[at] ?? null) : null));
  const seesRunning = nodes.map(({ presentTaints }) => !byTaints || blockingTaint(presentTaints, tolerations) === null);
  // What no pod comes to is another step's.
  const stays = nodes.map(({ leaving, claim, pods: { size } }) => !leaving && (claim === null || size > 0));
  if (key === labelKey.hostname) return { domains, seesRunning, stays, open: null, byTerm: [] };
  const possible = new Set(offered(key, shape, honored));
  for (const domain of domains) if (domain !== null) possible.add(domain);
  const terms = termsOf(shape);
  const open = [...possible].filter((domain) => isOpenTo(shape, key, domain, terms));
  const isThere = new Set(
    nodes.flatMap((node, at) => (node.claim === null && !node.leaving ? (domains[at] ?? []) : [])),
  );
  const byTerm = (terms ?? []).map((term) => ({
    term,
    open: open.filter((domain) => isThere.has(domain) || isOpenTo(shape, key, domain, [term])),
  }));
  return { domains, seesRunning, stays, open, byTerm };
}

function termsOf({ spec }: PodShape): ReadonlyArray<NodeSelectorTerm> | undefined {
  return spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
}

/** Does the constraint count on this node at all? */
function looksAt(node: FinalNode, { spec }: PodShape, constraint: TopologySpreadConstraint): boolean {
  if (honorsNodeRules(constraint) && !meetsNodeRules(node.labels, spec, node.name)) return false;
  return !honorsTaints(constraint) || blockingTaint(node.taints, spec.tolerations) === null;
}

/**
 * Could a node in the domain meet the pod's node selector and one of these terms, as far as they are about that key?
 */
function isOpenTo(
  { spec }: PodShape,
  key: string,
  domain: string,
  terms: ReadonlyArray<NodeSelectorTerm> | undefined,
): boolean {
  const labels = new Map([[key, [domain]]]);
  const selector = Object.entries(spec.nodeSelector ?? {}).filter(([name]) => normalizeKey(name) === key);
  if (selector.some(([, value]) => value !== domain)) return false;
  if (terms === undefined) return true;
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.filter((one) => normalizeKey(one.key) === key).every((one) => meets(labels, one)),
  );
}

interface SpreadSubject {
  readonly shape: PodShape;
  readonly sought: SelectedPods;
  readonly expectedOn: ExpectedOn;
}

function toView(
  { domains, seesRunning, stays, open, byTerm }: SpreadField,
  pods: PodsByShape,
  constraint: TopologySpreadConstraint,
  { shape: owner, sought: { shapes }, expectedOn }: SpreadSubject,
): SpreadView {
  const { minDomains = 1 } = constraint;
  const counts = new Map<string, number>();
  for (const shape of shapes) {
    for (const { at, pods: there } of pods.placesOf(shape)) {
      const domain = domains[at] ?? null;
      // Stryker disable next-line ConditionalExpression: nobody asks how many are in no domain
      if (domain === null) continue;
      const seen = there.planned + (seesRunning[at] === true ? there.running : 0);
      counts.set(domain, (counts.get(domain) ?? 0) + seen);
    }
  }
  if (open === null) {
    const selector = withLabelKeys(constraint.labelSelector, owner, { match: constraint.matchLabelKeys });
    const isSought = ({ namespace, labels }: PodShape): boolean =>
      namespace === owner.namespace && selector !== null && selected(selector, labels);
    const onHosts = domains.map((domain, at) => {
      if (domain === null || stays[at] !== true) return Infinity;
      return (counts.get(domain) ?? 0) + expectedOn(at).filter(isSought).length;
    });
    return { counts, least: 0, leastFrom: () => 0, leastOnHosts: onHosts.reduce((a, b) => Math.min(a, b), Infinity) };
  }
  const leastOf = (among: ReadonlyArray<string>): number => {
    const least = among.reduce((low, domain) => Math.min(low, counts.get(domain) ?? 0), Infinity);
    return among.length < minDomains || least === Infinity ? 0 : least;
  };
  const leastFrom = ({ labels, name }: FinalNode): number =>
    Math.max(0, ...byTerm.filter(({ term }) => meetsTerm(labels, term, name)).map((one) => leastOf(one.open)));
  return { counts, least: leastOf(open), leastFrom, leastOnHosts: 0 };
}
