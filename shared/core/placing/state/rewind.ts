import type { ExistingNode } from './existing-nodes.ts';
import type { HostPort } from '../../rules/host-ports.ts';
import type { ReservationsLeft } from '../../offerings/reservations.ts';
import type { Counter } from './topology.ts';
import type { Workspace } from './workspace.ts';

/** Where a workspace without claims was, so that it can be there again. */
export interface Mark {
  readonly nodes: ReadonlyArray<NodeMark>;
  readonly remaining: ReadonlyArray<ReadonlyMap<string, number>>;
  readonly reservationsLeft: ReservationsLeft;
  readonly counters: ReadonlyArray<CounterMark>;
}

interface NodeMark {
  readonly node: ExistingNode;
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
export function markOf({ nodes, pools, topology }: Workspace): Mark {
  return {
    nodes: nodes.map((node) => ({
      node,
      free: node.free.slice(),
      ports: [...node.ports],
      pods: node.pods.length,
      volumes: copyOf(node.attached.volumes),
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
  for (const { node, free, ports, pods, volumes } of mark.nodes) {
    node.free.set(free);
    node.ports.splice(0, node.ports.length, ...ports);
    node.pods.length = pods;
    if (volumes.size + node.attached.volumes.size > 0) refill(node.attached.volumes, copyOf(volumes));
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
