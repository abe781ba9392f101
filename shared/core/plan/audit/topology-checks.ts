import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { LabelSelector, PodAffinityTerm, TopologySpreadConstraint } from '../../model/manifest.ts';
import { labelKey, normalizeKey } from '../../model/labels.ts';
import { fatal, warning, type Finding } from './finding.ts';
import type { FinalNode, PodsOnNode } from './final-state.ts';
import { blockingTaint, meets, meetsNodeRules, selected } from './matching.ts';

/** The final nodes and what pools could add, with answers that are asked for often. */
export interface TopologyContext {
  readonly cluster: Cluster;
  readonly nodes: ReadonlyArray<FinalNode>;
  /** Domains of a key that the pools can offer to a pod; `honorTaints`: only pools whose taints it tolerates. */
  readonly offered: (key: string, shape: PodShape, honorTaints: boolean) => ReadonlyArray<string>;
}

/** Required affinity, anti-affinity in both directions, and hard spread, on the final state. */
export function checkTopology(context: TopologyContext): ReadonlyArray<Finding> {
  const shapes = new Map<number, PodShape>();
  const planned = new Set<number>();
  for (const { pods } of context.nodes) {
    for (const there of pods.values()) {
      shapes.set(there.shape, there.spec);
      if (there.planned > 0) planned.add(there.shape);
    }
  }
  if (planned.size === 0) return [];
  const findings: Array<Finding> = [];
  for (const [shape, spec] of shapes) {
    for (const term of spec.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      findings.push(...checkApart(context, shape, spec, term));
    }
  }
  for (const shape of planned) {
    const spec = shapes.get(shape);
    if (spec !== undefined) findings.push(...checkTogether(context, shape, spec));
  }
  return [...findings, ...checkSpread(context, planned, shapes)];
}

function domainOf({ labels }: FinalNode, key: string): string | null {
  const values = labels.get(normalizeKey(key));
  return values?.length === 1 ? (values[0] ?? null) : null;
}

function withLabelKeys(
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

/** Does the term of `owner` look for pods like `other`? */
function finds(cluster: Cluster, owner: PodShape, term: PodAffinityTerm, other: PodShape): boolean {
  const { namespaces = [], namespaceSelector, labelSelector, matchLabelKeys, mismatchLabelKeys } = term;
  const ownOnly = namespaces.length === 0 && namespaceSelector === undefined;
  const labels = cluster.namespaces.find(({ metadata }) => metadata.name === other.namespace)?.metadata.labels;
  const known = cluster.namespaces.some(({ metadata }) => metadata.name === other.namespace);
  const inNamespace = ownOnly
    ? other.namespace === owner.namespace
    : namespaces.includes(other.namespace) || (known && selected(namespaceSelector, labels ?? {}));
  const selector = withLabelKeys(labelSelector, owner, { match: matchLabelKeys, mismatch: mismatchLabelKeys });
  return inNamespace && selected(selector, other.labels);
}

interface Tally {
  present: number;
  planned: number;
}

/** Pods that `accepts` per domain. */
function tallies(
  { nodes }: TopologyContext,
  key: string,
  accepts: (pods: PodsOnNode, node: FinalNode) => boolean,
): ReadonlyMap<string, Tally> {
  const known = new Map<string, Tally>();
  for (const node of nodes) {
    const domain = domainOf(node, key);
    if (domain === null) continue;
    for (const pods of node.pods.values()) {
      if (!accepts(pods, node)) continue;
      const tally = known.get(domain) ?? { present: 0, planned: 0 };
      known.set(domain, tally);
      tally.present += pods.running;
      tally.planned += pods.planned;
    }
  }
  return known;
}

function checkApart(
  context: TopologyContext,
  shape: number,
  spec: PodShape,
  term: PodAffinityTerm,
): ReadonlyArray<Finding> {
  const answers = new Map<number, boolean>();
  const found = (pods: PodsOnNode): boolean => {
    const answer = answers.get(pods.shape) ?? finds(context.cluster, spec, term, pods.spec);
    answers.set(pods.shape, answer);
    return answer;
  };
  const owners = tallies(context, term.topologyKey, (pods) => pods.shape === shape);
  const others = tallies(context, term.topologyKey, found);
  const self = finds(context.cluster, spec, term, spec);
  return [...owners].flatMap(([domain, owner]) => {
    const other = others.get(domain) ?? { present: 0, planned: 0 };
    const total = other.present + other.planned;
    const involved = owner.planned + other.planned > 0 && owner.present + owner.planned > 0;
    return involved && total > (self ? 1 : 0)
      ? [fatal('anti-affinity', `${spec.namespace}/${spec.owner?.name ?? shape}: ${total} pods in ${domain}`)]
      : [];
  });
}

/** All terms must find, in each domain, one pod that meets every term, unless the pod is the first of its kind. */
function checkTogether(context: TopologyContext, shape: number, spec: PodShape): ReadonlyArray<Finding> {
  const terms = spec.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (terms.length === 0) return [];
  const selfFound = terms.every((term) => finds(context.cluster, spec, term, spec));
  return terms.flatMap((term) => {
    const matching = tallies(context, term.topologyKey, (pods) => finds(context.cluster, spec, term, pods.spec));
    const mine = tallies(context, term.topologyKey, (pods) => pods.shape === shape);
    const placed = context.nodes.reduce((sum, { pods }) => sum + (pods.get(shape)?.planned ?? 0), 0);
    const inDomains = [...mine.values()].reduce((sum, { planned }) => sum + planned, 0);
    if (placed > inDomains) return [fatal('affinity', `${spec.namespace}/${shape}: a node has no ${term.topologyKey}`)];
    const lonely = [...mine].filter(([domain, { planned }]) => {
      const there = matching.get(domain) ?? { present: 0, planned: 0 };
      return planned > 0 && there.present + there.planned - (selfFound ? 1 : 0) <= 0;
    });
    const total = [...matching.values()].reduce((sum, { present, planned }) => sum + present + planned, 0);
    if (lonely.length === 0 || (selfFound && total === 1)) return [];
    // One pod alone may have been the first of its kind, with the others placed after it: right in that order only.
    if (selfFound && lonely.length === 1) return [warning('affinity-start', `${spec.namespace}/${shape} is alone`)];
    return [fatal('affinity', `${spec.namespace}/${shape}: nothing that it must be near in ${lonely[0]?.[0]}`)];
  });
}

interface SpreadOwner {
  readonly shape: number;
  readonly spec: PodShape;
  readonly constraint: TopologySpreadConstraint;
  readonly selector: LabelSelector | null;
}

function checkSpread(
  context: TopologyContext,
  planned: ReadonlySet<number>,
  shapes: ReadonlyMap<number, PodShape>,
): ReadonlyArray<Finding> {
  const owners = [...planned].flatMap((shape): ReadonlyArray<SpreadOwner> => {
    const spec = shapes.get(shape);
    return (spec?.spec.topologySpreadConstraints ?? [])
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway')
      .flatMap((constraint) => {
        if (spec === undefined) return [];
        const selector = withLabelKeys(constraint.labelSelector, spec, { match: constraint.matchLabelKeys });
        return [{ shape, spec, constraint, selector }];
      });
  });
  const groups = Map.groupBy(owners, ({ spec, constraint, selector }) => {
    const { topologyKey, maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
    return JSON.stringify([
      spec.namespace,
      topologyKey,
      maxSkew,
      minDomains,
      nodeAffinityPolicy,
      nodeTaintsPolicy,
      selector,
    ]);
  });
  return [...groups.values()].flatMap((group) => checkSpreadGroup(context, group));
}

/** In each domain at least one pod of the group, the last placed, must have seen no more than maxSkew. */
function checkSpreadGroup(context: TopologyContext, group: ReadonlyArray<SpreadOwner>): ReadonlyArray<Finding> {
  const members = new Set(group.map(({ shape }) => shape));
  const [first] = group;
  if (first === undefined) return [];
  const { topologyKey } = first.constraint;
  const counted = ({ spec }: PodsOnNode): boolean =>
    spec.namespace === first.spec.namespace && selected(first.selector, spec.labels);
  const homeless = context.nodes.some(
    (node) =>
      domainOf(node, topologyKey) === null &&
      [...node.pods.values()].some((pods) => pods.planned > 0 && members.has(pods.shape)),
  );
  if (homeless) return [fatal('spread', `a node has no ${topologyKey}`)];
  const outsiders = tallies(context, topologyKey, (pods) => counted(pods) && !members.has(pods.shape));
  const views = group.map((owner) => ({ owner, view: viewOf(context, owner, counted) }));
  const domains = [...tallies(context, topologyKey, (pods) => pods.planned > 0 && members.has(pods.shape)).keys()];
  return domains.flatMap((domain) => {
    // Pods counted here that do not follow the rule may have come later: what they add cannot be judged.
    if ((outsiders.get(domain)?.planned ?? 0) > 0) return [];
    const here = views.filter(({ owner }) =>
      context.nodes.some(
        (node) => domainOf(node, topologyKey) === domain && (node.pods.get(owner.shape)?.planned ?? 0) > 0,
      ),
    );
    const even = here.some(
      ({ owner, view }) => (view.counts.get(domain) ?? 0) - view.least <= owner.constraint.maxSkew,
    );
    return even ? [] : [fatal('spread', `${first.spec.namespace}: ${topologyKey} ${domain} has too many pods`)];
  });
}

function viewOf(
  context: TopologyContext,
  { spec, constraint }: SpreadOwner,
  counted: (pods: PodsOnNode) => boolean,
): { readonly counts: ReadonlyMap<string, number>; readonly least: number } {
  const key = normalizeKey(constraint.topologyKey);
  const byTaints = constraint.nodeTaintsPolicy === 'Honor';
  const counts = new Map<string, number>();
  for (const node of context.nodes) {
    const domain = domainOf(node, key);
    if (domain === null || !looksAt(node, spec, constraint)) continue;
    const seen = !byTaints || blockingTaint(node.presentTaints, spec.spec.tolerations) === null;
    const here = [...node.pods.values()].filter(counted);
    const sum = here.reduce((total, { planned, running }) => total + planned + (seen ? running : 0), 0);
    counts.set(domain, (counts.get(domain) ?? 0) + sum);
  }
  if (key === labelKey.hostname) return { counts, least: 0 };
  const possible = new Set([...context.offered(key, spec, byTaints), ...counts.keys()]);
  const open = [...possible].filter((domain) => isOpenTo(spec, key, domain));
  const least = open.reduce((low, domain) => Math.min(low, counts.get(domain) ?? 0), Infinity);
  return { counts, least: open.length < (constraint.minDomains ?? 1) || least === Infinity ? 0 : least };
}

/** Does the constraint count on this node at all? */
function looksAt(
  node: FinalNode,
  { spec }: PodShape,
  { nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
): boolean {
  if ((nodeAffinityPolicy ?? 'Honor') === 'Honor' && !meetsNodeRules(node.labels, spec, node.name)) return false;
  return nodeTaintsPolicy !== 'Honor' || blockingTaint(node.taints, spec.tolerations) === null;
}

/** Could a node in the domain meet the pod's own node rules on that key? */
function isOpenTo({ spec }: PodShape, key: string, domain: string): boolean {
  const labels = new Map([[key, [domain]]]);
  const selector = Object.entries(spec.nodeSelector ?? {}).filter(([name]) => normalizeKey(name) === key);
  if (selector.some(([, value]) => value !== domain)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return required.nodeSelectorTerms.some(({ matchExpressions = [] }) =>
    matchExpressions.filter((one) => normalizeKey(one.key) === key).every((one) => meets(labels, one)),
  );
}
