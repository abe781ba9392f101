import type { Usage } from '../azure/state/quota.ts';
import type { PossibleMachine } from './possible-machines.ts';

/** A quota for which pods wait. */
export interface QuotaShortage {
  /** As `--quota` and Azure's usage list have it. */
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  /** Pods that no machine can be had for before it is raised. */
  readonly pods: number;
  /** A limit that would do, on machines that are alike; less may do on others, and daemonsets take more. */
  readonly suggested: number;
  /** Other quotas that are too low too, any of which would have to be raised instead. */
  readonly others: number;
}

/** Pods that wait and are alike. */
export interface WaitingPods {
  readonly pods: number;
  /** Machines that could hold one of them, cheapest first; without those that are sold out. */
  readonly machines: ReadonlyArray<PossibleMachine>;
}

/** What quota Azure counts, and which refusals for quota are remembered. */
export interface QuotaFacts {
  readonly usages: ReadonlyArray<Usage>;
  /** The quota for which a machine is not even asked for now; null: none. */
  readonly refusedFor: (machine: PossibleMachine) => string | null;
}

/**
 * The quotas that keep pods waiting: of each kind of pods those that stand before the machine with the fewest of them,
 * the cheapest of these, where quota stands before every machine that could hold one. The quota of most pods comes
 * first. Pure.
 */
export function findShortages(waiting: ReadonlyArray<WaitingPods>, facts: QuotaFacts): ReadonlyArray<QuotaShortage> {
  const rows = new Map(facts.usages.map((row) => [row.name.toLowerCase(), row]));
  const found = new Map<string, QuotaShortage>();
  for (const group of waiting) {
    const obstacles = obstaclesOf(group.machines, rows, facts);
    if (obstacles === null) continue;
    for (const { name, current, limit } of obstacles.least) {
      const before = found.get(name);
      found.set(name, {
        name,
        used: current,
        limit,
        pods: group.pods + (before?.pods ?? 0),
        suggested: Math.max(limit + 1, (before?.suggested ?? current) + wantedOf(group, name)),
        others: Math.max(obstacles.others, before?.others ?? 0),
      });
    }
  }
  return [...found.values()].toSorted((a, b) => b.pods - a.pods || (a.name < b.name ? -1 : 1));
}

/** The least of a quota that machines of one size take to hold all pods of a group. */
function wantedOf({ pods, machines }: WaitingPods, name: string): number {
  const wanted = machines
    .filter((one) => quotasOf(one).includes(name))
    .map(({ sku, holds }) => Math.ceil(pods / holds) * (name === 'virtualMachines' ? 1 : sku.vCpus));
  return wanted.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);
}

/** Null where some machine is within quota, or where there is none at all: then quota is not the reason. */
function obstaclesOf(
  machines: ReadonlyArray<PossibleMachine>,
  rows: ReadonlyMap<string, Usage>,
  facts: QuotaFacts,
): { readonly least: ReadonlyArray<Usage>; readonly others: number } | null {
  let least: ReadonlyArray<Usage> | null = null;
  const names = new Set<string>();
  for (const machine of machines) {
    const obstacles = obstaclesBefore(machine, rows, facts);
    if (obstacles.length === 0) return null;
    for (const { name } of obstacles) names.add(name);
    if (least === null || obstacles.length < least.length) least = obstacles;
  }
  if (least === null) return null;
  // Where a quota of all machines of a kind is short, no family's would help.
  const isRegional = least.some(({ name }) => REGIONAL.has(name));
  return { least, others: isRegional ? 0 : names.size - least.length };
}

const REGIONAL: ReadonlySet<string> = new Set(['cores', 'lowPriorityCores', 'virtualMachines']);

function obstaclesBefore(
  machine: PossibleMachine,
  rows: ReadonlyMap<string, Usage>,
  { refusedFor }: QuotaFacts,
): ReadonlyArray<Usage> {
  const obstacles = quotasOf(machine).flatMap((name) => {
    const row = rows.get(name.toLowerCase());
    const required = name === 'virtualMachines' ? 1 : machine.sku.vCpus;
    return row === undefined || row.current + required <= row.limit ? [] : [row];
  });
  if (obstacles.length > 0) return obstacles;
  const row = rows.get(refusedFor(machine)?.toLowerCase() ?? '');
  return row === undefined ? [] : [row];
}

/** The quotas that a machine counts against. */
function quotasOf({ sku, capacityType }: PossibleMachine): ReadonlyArray<string> {
  return [...(capacityType === 'spot' ? ['lowPriorityCores'] : ['cores', sku.quotaFamily]), 'virtualMachines'];
}
