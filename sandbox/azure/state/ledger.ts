import type { Clock } from '../../base/clock.ts';

/** One VM that ever existed. Times are milliseconds since the Unix epoch, null for what has not happened. */
export interface VmHistory {
  readonly name: string;
  readonly vmId: string;
  readonly size: string;
  readonly zone: string | null;
  readonly capacityType: 'spot' | 'on-demand';
  readonly firstPutAt: number;
  readonly allocatedAt: number | null;
  readonly runningAt: number | null;
  readonly goneAt: number | null;
  readonly gone: 'deleted' | 'evicted' | 'failed' | null;
}

/** What was asked of the double and what came of it. */
export interface Counters {
  /** PUTs of a VM by name, refused ones included. */
  readonly vmPuts: { readonly [name: string]: number };
  /** VMs that came to be, by name: a name above one was created, lost and created again. */
  readonly creations: { readonly [name: string]: number };
  readonly deletions: number;
  readonly evictions: number;
  readonly resizes: number;
  /** Refusals by error code, synchronous and asynchronous. */
  readonly refusals: { readonly [code: string]: number };
  /** Requests by method and resource type, as `PUT virtualMachines`. */
  readonly requests: { readonly [kind: string]: number };
  /** Faults injected, by kind. */
  readonly faults: { readonly [kind: string]: number };
  /** The most VMs that existed at one time. */
  readonly peakVms: number;
  /** In the order of their first PUT. */
  readonly vms: ReadonlyArray<VmHistory>;
}

/** Keeps the counters. Tests read them to say that nothing was made twice and nothing was left. */
export class Ledger {
  readonly #clock: Clock;
  readonly #tallies = new Map<string, Map<string, number>>();
  readonly #firstPuts = new Map<string, number>();
  readonly #vms = new Map<string, VmHistory>();
  #peak = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(tally: 'vmPuts' | 'creations' | 'refusals' | 'requests' | 'faults' | 'totals', key: string): void {
    const counts = this.#tallies.get(tally) ?? new Map<string, number>();
    counts.set(key, (counts.get(key) ?? 0) + 1);
    this.#tallies.set(tally, counts);
  }

  putReceived(name: string): void {
    this.count('vmPuts', name);
    if (!this.#firstPuts.has(name)) this.#firstPuts.set(name, this.#clock.now());
  }

  created(vm: Pick<VmHistory, 'name' | 'vmId' | 'size' | 'zone' | 'capacityType'>): void {
    this.count('creations', vm.name);
    const firstPutAt = this.#firstPuts.get(vm.name) ?? this.#clock.now();
    const unknown = { allocatedAt: null, runningAt: null, goneAt: null, gone: null };
    this.#vms.set(vm.vmId, { ...vm, firstPutAt, ...unknown });
    this.#peak = Math.max(this.#peak, this.#living());
  }

  reached(vmId: string, moment: 'allocatedAt' | 'runningAt'): void {
    const vm = this.#vms.get(vmId);
    if (vm !== undefined) this.#vms.set(vmId, { ...vm, [moment]: this.#clock.now() });
  }

  gone(vmId: string, reason: 'deleted' | 'evicted' | 'failed'): void {
    const vm = this.#vms.get(vmId);
    if (vm === undefined || vm.goneAt !== null) return;
    this.#vms.set(vmId, { ...vm, goneAt: this.#clock.now(), gone: reason });
    this.#firstPuts.delete(vm.name);
    this.count('totals', reason === 'evicted' ? 'evictions' : 'deletions');
  }

  read(): Counters {
    const tally = (name: string): { readonly [key: string]: number } =>
      Object.fromEntries(this.#tallies.get(name) ?? []);
    const totals = tally('totals');
    return {
      vmPuts: tally('vmPuts'),
      creations: tally('creations'),
      deletions: totals['deletions'] ?? 0,
      evictions: totals['evictions'] ?? 0,
      resizes: totals['resizes'] ?? 0,
      refusals: tally('refusals'),
      requests: tally('requests'),
      faults: tally('faults'),
      peakVms: this.#peak,
      vms: [...this.#vms.values()],
    };
  }

  #living(): number {
    return [...this.#vms.values()].filter(({ goneAt }) => goneAt === null).length;
  }
}
