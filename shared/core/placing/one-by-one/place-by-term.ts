import type { Pod } from '../../model/cluster.ts';
import { isNarrowedByTerm, type SpreadTerm } from '../state/need-terms.ts';
import { passing } from './claim-share.ts';
import type { Need } from '../state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { sourceFor } from '../../offerings/key-source.ts';
import { offeringsOf, settledValue, type OpenClaim } from '../state/open-claim.ts';
import { placeAs, placeInRounds, queueFor } from './place.ts';
import { passesFilter } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * Places pods of spreads, which nothing could hold so far, by one of their required terms alone; returns what is left.
 * Terms are alternatives: a domain where pools could only serve another term need not have pods before the others get
 * more. As in Karpenter, which tries terms in turn, but after all else and not first, and heeding the nodes that are
 * there.
 */
export function placeByTerm(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const [able, others] = [new Set<Pod>(), new Set<Pod>()];
  for (const pod of pods) (isNarrowed(bindingNeed(workspace, pod)) ? able : others).add(pod);
  if (able.size === 0) return pods;
  const queue = queueFor(workspace);
  const left = new Set(
    placeInRounds([...able], workspace.devices === null, (pod, mayStart) => {
      const need = bindingNeed(workspace, pod);
      return need !== undefined && placeAs(queue, needsByTerm(workspace, need), pod, mayStart);
    }),
  );
  return pods.filter((pod) => others.has(pod) || left.has(pod));
}

function bindingNeed({ needs }: Workspace, { shape }: Pod): Need | undefined {
  return needs.get(shape)?.at(-1);
}

/** Pods that claim devices are placed by rules of their own. */
function isNarrowed(need: Need | undefined): boolean {
  return need !== undefined && !hasDeviceClaims(need.shape.shape.spec) && need.terms.spread.some(isNarrowedByTerm);
}

/**
 * The need as one for each of its required terms, as nodes are now: none where that makes no difference to its spreads.
 * Nodes that the spread looks at count for every term, since kube-scheduler heeds them whatever term they meet.
 */
export function needsByTerm(workspace: Workspace, need: Need): ReadonlyArray<Need> {
  if (!isNarrowed(need)) return [];
  const peopled = need.terms.spread.map((term) => domainsOfNodes(workspace, term));
  return need.constraints.alternatives.map((rules, index) => ({
    ...need,
    constraints: { ...need.constraints, alternatives: [rules] },
    terms: {
      ...need.terms,
      spread: need.terms.spread.map((term, own) => {
        const offered = term.byTerm[index] ?? [];
        const domains = term.domains.filter((one) => offered.includes(one) || peopled[own]?.has(one) === true);
        return { ...term, domains, byTerm: [domains] };
      }),
    },
    kind: `${need.kind} by term ${index}`,
  }));
}

/** Where nodes are, or may come to be by this plan, that the spread looks at. */
function domainsOfNodes({ nodes, claims }: Workspace, { counter: { key, filter } }: SpreadTerm): ReadonlySet<string> {
  const domains = new Set<string>();
  for (const { capacity } of nodes) {
    const domain = capacity.labels[key];
    if (domain !== undefined && passesFilter(filter, capacity)) domains.add(domain);
  }
  for (const claim of claims) {
    if (filter !== null && !passing(claim, filter).possible) continue;
    for (const domain of domainsOpenTo(claim, key)) domains.add(domain);
  }
  return domains;
}

function domainsOpenTo(claim: OpenClaim, key: string): ReadonlyArray<string> {
  const source = sourceFor(claim.state, key);
  if (source.kind !== 'offering') return [settledValue(claim, key)].filter((value) => value !== null);
  const offered = offeringsOf(claim).reduce((bits, own) => bits | own, 0);
  return source.groups.flatMap(({ value, bits }) => (value !== undefined && (bits & offered) !== 0 ? [value] : []));
}
