import type {
  InventoryItem,
  LaunchOrder,
  LaunchOutcome,
  Machine,
  ObservedMachine,
} from '../../../shared/ports/cloud.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { AzureFaults } from './faults.ts';
import type { Timeline } from './timeline.ts';

export interface Vm {
  readonly order: LaunchOrder;
  readonly machine: Machine;
  readonly createdAtMs: number;
  state: 'creating' | 'running' | 'failed' | 'deleting';
  isEquipped: boolean;
}

/** What the world does when a VM changes. */
export interface VmListener {
  readonly created: (vm: Vm) => void;
  readonly running: (vm: Vm) => void;
  readonly gone: (vm: Vm, by: 'us' | 'azure') => void;
}

/** VMs and NICs that take their time, and a capacity that runs out. */
export class Azure {
  readonly vms: Map<string, Vm> = new Map();
  readonly nics: Set<string> = new Set();
  faults: AzureFaults;
  readonly #timeline: Timeline;
  readonly #rng: Rng;
  readonly #listener: VmListener;

  constructor(parts: { timeline: Timeline; rng: Rng; faults: AzureFaults; listener: VmListener }) {
    this.#timeline = parts.timeline;
    this.#rng = parts.rng;
    this.faults = parts.faults;
    this.#listener = parts.listener;
  }

  ensureNic(claim: string): void {
    this.nics.add(claim);
  }

  createVm(order: LaunchOrder): LaunchOutcome {
    const { claim, offering } = order;
    const known = this.vms.get(claim);
    if (known !== undefined) return { kind: 'exists', machine: known.machine };
    const refusal = this.#refusal(order);
    if (refusal !== null) return refusal;
    const { instanceType, zone, capacityType } = offering;
    const providerId = `azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/sim/providers/Microsoft.Compute/virtualMachines/aks-${claim}`;
    const imageId = order.nodeClass.status?.images?.[0]?.id ?? 'image';
    const machine = { claim, providerId, instanceType, zone, capacityType, imageId };
    const vm: Vm = { order, machine, createdAtMs: this.#timeline.now(), state: 'creating', isEquipped: false };
    this.vms.set(claim, vm);
    this.#listener.created(vm);
    const fails = this.#rng.chance(this.faults.asyncFailure);
    this.#timeline.after(3_000 + this.#rng.below(20_000), () => {
      if (vm.state !== 'creating') return;
      vm.state = fails ? 'failed' : 'running';
      if (!fails) this.#listener.running(vm);
    });
    return { kind: 'accepted', machine };
  }

  #refusal({ offering }: LaunchOrder): LaunchOutcome | null {
    const { instanceType, zone, capacityType } = offering;
    const soldOut = this.faults.soldOut.has(`${instanceType}/${zone}/${capacityType}`);
    if (!soldOut && !this.#rng.chance(this.faults.refusal)) return null;
    const scope = (['offering', 'size', 'zone', 'family', 'spot'] as const)[this.#rng.below(soldOut ? 1 : 5)];
    if (scope === undefined || (scope === 'spot' && capacityType !== 'spot')) return null;
    return { kind: 'unavailable', scope, retryAfterMs: 60_000, reason: 'AllocationFailed', message: 'sold out' };
  }

  observe(claim: string): ObservedMachine {
    const vm = this.vms.get(claim);
    if (vm === undefined) return { kind: 'gone' };
    const { machine, state, isEquipped } = vm;
    if (state !== 'failed') return { kind: 'present', state, machine, isEquipped, failedBoot: null };
    const refusal = { scope: 'offering', retryAfterMs: 60_000 } as const;
    return { kind: 'failed', machine: vm.machine, refusal, reason: 'AllocationFailed', message: 'no capacity' };
  }

  equip(claim: string): void {
    const vm = this.vms.get(claim);
    if (vm !== undefined) vm.isEquipped = true;
  }

  delete(claim: string): 'gone' | 'deleting' {
    const vm = this.vms.get(claim);
    if (vm !== undefined) {
      this.remove(vm, 'us');
      return 'deleting';
    }
    const hadNic = this.nics.delete(claim);
    return hadNic ? 'deleting' : 'gone';
  }

  remove(vm: Vm, by: 'us' | 'azure'): void {
    if (vm.state === 'deleting') return;
    vm.state = 'deleting';
    this.#timeline.after(2_000 + this.#rng.below(40_000), () => {
      if (this.vms.get(vm.machine.claim) !== vm) return;
      this.vms.delete(vm.machine.claim);
      this.nics.delete(vm.machine.claim);
      this.#listener.gone(vm, by);
    });
  }

  inventory(): ReadonlyArray<InventoryItem> {
    const vms = [...this.vms.values()].map(({ machine, createdAtMs, state, isEquipped }) => ({
      kind: 'vm' as const,
      claim: machine.claim,
      createdAtMs,
      lacksEquipment: state === 'running' && !isEquipped,
    }));
    return [
      ...vms,
      ...[...this.nics].map((claim) => ({ kind: 'nic' as const, claim, createdAtMs: null, lacksEquipment: false })),
    ];
  }
}
