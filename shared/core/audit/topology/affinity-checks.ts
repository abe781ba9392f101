import type { PodShape } from '../../model/cluster.ts';
import type { PodAffinityTerm } from '../../../kubernetes/manifest.ts';
import { fatal, warning, type Finding, type Subject } from '../seen/finding.ts';
import { tallyByDomain, type PodsByShape, type Tally } from './pods-by-shape.ts';
import type { SelectedPods, ShapeFinder } from './selected-shapes.ts';

function aboutAll(shapes: Iterable<number>): ReadonlyArray<Subject> {
  return [...new Set(shapes)].map((shape) => ({ kind: 'shape', shape }));
}

const NOBODY: Tally = { present: 0, planned: 0 };

/** Required anti-affinity of all pods, in both directions, and required affinity of those that the plan adds. */
export function checkAffinity(pods: PodsByShape, finder: ShapeFinder): ReadonlyArray<Finding> {
  const findings: Array<Finding> = [];
  for (const [shape, spec] of pods.shapes) {
    for (const term of spec.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      findings.push(...checkApart(pods, shape, spec, { term, sought: finder.byTerm(spec, term) }));
    }
  }
  for (const shape of pods.planned) {
    const spec = pods.shapes.get(shape);
    const terms = spec?.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    // Stryker disable next-line ConditionalExpression,LogicalOperator: every shape that is planned is known, and without terms there is nothing to find
    if (spec === undefined || terms.length === 0) continue;
    const rules = terms.map((term) => ({ term, sought: finder.byTerm(spec, term) }));
    findings.push(...checkTogether(pods, shape, spec, rules));
  }
  return findings;
}

/** A term with whom it looks for. */
interface AffinityRule {
  readonly term: PodAffinityTerm;
  readonly sought: SelectedPods;
}

function checkApart(
  pods: PodsByShape,
  shape: number,
  spec: PodShape,
  { term: { topologyKey }, sought }: AffinityRule,
): ReadonlyArray<Finding> {
  const others = sought.tallies(topologyKey);
  const allowed = sought.shapes.has(shape) ? 1 : 0;
  return [...tallyByDomain(pods, [shape], topologyKey)].flatMap(([domain, owner]) => {
    const other = others.get(domain) ?? NOBODY;
    const total = other.present + other.planned;
    const involved = owner.planned + other.planned > 0 && owner.present + owner.planned > 0;
    return involved && total > allowed
      ? [
          fatal(
            'anti-affinity',
            `${spec.namespace}/${spec.owner?.name ?? shape}: ${total} pods in ${domain}`,
            ...aboutAll([shape, ...sought.shapes]),
          ),
        ]
      : [];
  });
}

/** All terms must find, in each domain, one pod that meets every term, unless the pod is the first of its kind. */
function checkTogether(
  pods: PodsByShape,
  shape: number,
  { namespace }: PodShape,
  rules: ReadonlyArray<AffinityRule>,
): ReadonlyArray<Finding> {
  const selfFound = rules.every(({ sought }) => sought.shapes.has(shape));
  const placed = pods.placesOf(shape).reduce((sum, place) => sum + place.pods.planned, 0);
  return rules.flatMap(({ term: { topologyKey }, sought }) => {
    const matching = sought.tallies(topologyKey);
    const mine = tallyByDomain(pods, [shape], topologyKey);
    const inDomains = [...mine.values()].reduce((sum, { planned }) => sum + planned, 0);
    if (placed > inDomains)
      return [fatal('affinity', `${namespace}/${shape}: a node has no ${topologyKey}`, { kind: 'shape', shape })];
    const lonely = [...mine].filter(([domain, { planned }]) => {
      const there = matching.get(domain) ?? NOBODY;
      return planned > 0 && there.present + there.planned - (selfFound ? 1 : 0) <= 0;
    });
    if (lonely.length === 0) return [];
    const total = [...matching.values()].reduce((sum, { present, planned }) => sum + present + planned, 0);
    if (selfFound && total === 1) return [];
    // One pod alone may have been the first of its kind, with the others placed after it: right in that order only.
    if (selfFound && lonely.length === 1) return [warning('affinity-start', `${namespace}/${shape} is alone`)];
    const text = `${namespace}/${shape}: nothing that it must be near in ${lonely[0]?.[0]}`;
    return [fatal('affinity', text, { kind: 'shape', shape })];
  });
}
