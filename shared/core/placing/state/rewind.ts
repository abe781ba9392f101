import type { Bin } from './bins.ts';
import type { HostPort } from '../../rules/host-ports.ts';
import type { ReservationsLeft } from '../../offerings/reservations.ts';
import type { Counter } from './topology.ts';
import type { Workspace } from './workspace.ts';

/** Where a workspace without claims was, so that it can be there again. */
export interface Mark {
  readonly bins: ReadonlyArray<BinMark>;
  readonly remaining: ReadonlyArray<ReadonlyMap<string, number>>;
  readonly reservationsLeft: ReservationsLeft;
  readonly counters: ReadonlyArray<CounterMark>;
}

interface BinMark {
  readonly bin: Bin;
  readonly free: Float64Array;
  readonly ports: ReadonlyArray<HostPort>;
  readonly pods: number;
  readonly volumes: ReadonlyMap<string, ReadonlySet<string>>;
}

interface CounterMark {
  readonly counter: Counter;
  readonly byDomain: ReadonlyMap<string, number>;
  readonly total: number;
}

/** Notes all that placing pods changes. The workspace must have no claims. */
export function markOf({ bins, pools, topology }: Workspace): Mark {
  return {
    bins: bins.map((bin) => ({
      bin,
      free: bin.free.slice(),
      ports: [...bin.ports],
      pods: bin.pods.length,
      volumes: copyOf(bin.attached.volumes),
    })),
    remaining: pools.map(({ remaining }) => new Map(remaining)),
    reservationsLeft: new Map(pools[0]?.reservationsLeft),
    counters: [...topology.counters.values(), ...topology.exclusions.values()].map((counter) => ({
      counter,
      byDomain: new Map(counter.byDomain),
      total: counter.total,
    })),
  };
}

/** Takes everything off again that was placed since the mark, in place. Caches of what does not change stay. */
export function rewind(workspace: Workspace, mark: Mark): void {
  workspace.claims.length = 0;
  workspace.roomy.clear();
  for (const { bin, free, ports, pods, volumes } of mark.bins) {
    bin.free.set(free);
    bin.ports.splice(0, bin.ports.length, ...ports);
    bin.pods.length = pods;
    if (volumes.size + bin.attached.volumes.size > 0) refill(bin.attached.volumes, copyOf(volumes));
  }
  workspace.pools.forEach(({ remaining }, index) => refill(remaining, mark.remaining[index] ?? remaining));
  const [first] = workspace.pools;
  if (first !== undefined) refill(first.reservationsLeft, mark.reservationsLeft);
  for (const { counter, byDomain, total } of mark.counters) {
    refill(counter.byDomain, byDomain);
    counter.byClaim.clear();
    counter.total = total;
  }
}

function copyOf(volumes: ReadonlyMap<string, ReadonlySet<string>>): Map<string, Set<string>> {
  return new Map([...volumes].map(([driver, there]) => [driver, new Set(there)]));
}

function refill<Value>(map: Map<string, Value>, entries: ReadonlyMap<string, Value>): void {
  if (map.size === 0 && entries.size === 0) return;
  const kept = [...entries];
  map.clear();
  for (const [key, value] of kept) map.set(key, value);
}
