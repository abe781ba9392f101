import type { Pod } from '../../model/cluster.ts';
import { bookCapacity } from '../../offerings/pool-state.ts';
import { countIn, type BulkRule } from './bulk-groups.ts';
import { settledValue } from '../state/open-claim.ts';
import { addVector } from '../../quantity/resource-table.ts';
import { shrinkClaim } from './bulk-shrink.ts';
import { forgetOnClaim } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * Takes pods off claims again where a spread that was assigned evenly did not come out even, because limits stopped the
 * nodes of one domain. Returns the pods taken off; claims left without pods are gone, the others as small as their pods
 * allow.
 */
export function trimUneven(workspace: Workspace, rules: ReadonlyMap<number, BulkRule | null>): ReadonlyArray<Pod> {
  const before = new Map(workspace.claims.map((claim) => [claim, claim.pods.length]));
  const taken: Array<Pod> = [];
  for (const rule of rules.values()) {
    const { spread } = rule ?? { spread: null };
    if (rule === null || spread === null || spread.self === 0) continue;
    for (let pod = surplusPod(workspace, rule); pod !== null; pod = surplusPod(workspace, rule)) taken.push(pod);
  }
  const empty = workspace.claims.filter(({ pods }) => pods.length === 0);
  for (const claim of empty) {
    if (claim.booked !== null) bookCapacity(claim.state.remaining, claim.booked, -1);
    workspace.claims.splice(workspace.claims.indexOf(claim), 1);
  }
  for (const claim of workspace.claims) {
    if (claim.pods.length !== before.get(claim)) shrinkClaim(workspace, claim, rules);
  }
  return taken;
}

function surplusPod(workspace: Workspace, { need, spread }: BulkRule): Pod | null {
  if (spread === null) return null;
  const { counter, domains, maxSkew, minDomains } = spread;
  const placed = new Map(domains.map((domain) => [domain, countIn(counter, domain)]));
  const least = domains.length < minDomains ? 0 : Math.min(...placed.values());
  for (const claim of workspace.claims.toReversed()) {
    const domain = settledValue(claim, counter.key);
    const at = claim.pods.findLastIndex(({ shape }) => shape === need.shape.index);
    if (domain === null || at === -1 || (placed.get(domain) ?? 0) - least <= maxSkew) continue;
    const [pod] = claim.pods.splice(at, 1);
    if (pod === undefined) continue;
    addVector(claim.load, need.shape.requests, -1);
    for (const port of need.shape.ports) claim.ports.splice(claim.ports.indexOf(port), 1);
    forgetOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
    return pod;
  }
  return null;
}
