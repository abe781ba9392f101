import type { Azure } from '../azure/azure.ts';
import type { VmView } from '../azure/resources.ts';
import { readSizes } from '../azure/sizes.ts';
import type { Kubelets } from '../kubernetes/kubelet/kubelets.ts';
import type { MachineSpec } from '../kubernetes/kubelet/machine.ts';
import type { Rng } from './rng.ts';

/** What a machine's boot and end look like from the cluster. */
export interface MachinePace {
  /** From `vm-running` until its kubelet registers, milliseconds: half to one and a half times this, by seed. */
  readonly joinMs: number;
  /** From registration to Ready, milliseconds. */
  readonly readyMs: number;
  /** From the machine's end until the cloud provider removes its Node, milliseconds; null: it stays. */
  readonly nodeRemovalMs: number | null;
}

/**
 * Lets VMs of the Azure double become nodes of the cluster, as their images do: a VM that runs reads its custom data, and
 * its kubelet joins with the labels and taints it finds there; an eviction notice shows as a node condition within two
 * seconds; a VM that is gone takes its kubelet along. The answer ends it.
 */
export function connectMachines(azure: Azure, kubelets: Kubelets, rng: Rng, pace: MachinePace): () => void {
  const sizes = new Map<string, ReturnType<typeof readSizes>>();
  const sizeOf = (
    vm: VmView,
  ): { readonly vCpus: number; readonly memoryGib: number; readonly gpus: string | undefined } => {
    const region = sizes.get(vm.region) ?? readSizes(`${import.meta.dirname}/../azure/data`, vm.region);
    sizes.set(vm.region, region);
    const size = region.get(vm.size.toLowerCase());
    const memoryGib = Number(size?.capabilities['MemoryGB'] ?? 4);
    return { vCpus: size?.vCpus ?? 2, memoryGib, gpus: size?.capabilities['GPUs'] };
  };
  const joined = new Set<string>();
  const early = new Map<string, Notice>();
  const join = async (spec: MachineSpec): Promise<void> => {
    await kubelets.join(spec);
    joined.add(spec.name);
    const notice = early.get(spec.name);
    if (notice !== undefined) announce(spec.name, notice);
  };
  /** A notice to a machine that still boots shows once it has joined. */
  const announce = (name: string, notice: Notice): void => {
    if (joined.has(name)) void kubelets.setCondition(name, notice).catch(() => undefined);
    else early.set(name, notice);
  };
  return azure.on((event) => {
    switch (event.kind) {
      case 'vm-running': {
        const draw = rng.split(event.vm.name);
        const joinDelayMs = Math.round(pace.joinMs * (0.5 + draw.below(1_000) / 1_000));
        const spec = toMachine(event.vm, sizeOf(event.vm), joinDelayMs, pace.readyMs);
        // A machine whose custom data nobody can read boots and never joins, as in Azure.
        if (spec !== null) void join(spec).catch(() => undefined);
        return;
      }
      case 'vm-preempt-notice':
        announce(event.vm.computerName, preemption(event.notBefore, event.eventId));
        return;
      case 'vm-scheduled-event':
        announce(event.vm.computerName, maintenance(event));
        return;
      case 'vm-gone':
        joined.delete(event.name);
        early.delete(event.name);
        kubelets.remove(event.name, pace.nodeRemovalMs);
        return;
      case 'vm-allocated':
      case 'vm-failed':
        return;
      default:
        event satisfies never;
    }
  });
}

interface Notice {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** As node-problem-detector reports announced maintenance on AKS. */
function maintenance({
  eventType,
  notBefore,
  eventId,
}: {
  readonly eventType: string;
  readonly notBefore: number;
  readonly eventId: string;
}): Notice {
  const message = `${eventType} Scheduled: ${new Date(notBefore).toUTCString()}. DurationInSeconds: -1. EventId: ${eventId}`;
  return { type: 'VMEventScheduled', status: 'True', reason: `${eventType}Scheduled`, message };
}

/** As node-problem-detector reports a spot notice on AKS. */
function preemption(notBefore: number, eventId: string): Notice {
  const at = new Date(notBefore).toUTCString();
  const message = `Preempt Scheduled: ${at}. DurationInSeconds: -1. EventId: ${eventId}`;
  return { type: 'PreemptionScheduled', status: 'True', reason: 'SpotEvictionIncoming', message };
}

interface NodeConfig {
  readonly kubernetes_version?: string;
  readonly kubelet_config?: {
    readonly kubelet_node_labels?: Readonly<Record<string, string>>;
    readonly kubelet_flags?: Readonly<Record<string, string>>;
  };
}

/** Reads what the node controller of AKS's images would find; null when it is not there. */
export function readNodeConfig(customData: string | null): NodeConfig | null {
  const text = Buffer.from(customData ?? '', 'base64').toString('utf8');
  const payload = /echo '([A-Za-z0-9+/=]+)' \| base64 -d/.exec(text)?.[1];
  if (payload === undefined) return null;
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as NodeConfig;
  } catch {
    return null;
  }
}

/** The part of its memory that a VM's operating system sees; AKS plans with 7.5 % less than the nominal size. */
const VISIBLE_MEMORY = 0.935;

function toMachine(
  vm: VmView,
  size: { readonly vCpus: number; readonly memoryGib: number; readonly gpus: string | undefined },
  joinDelayMs: number,
  readyDelayMs: number,
): MachineSpec | null {
  const config = readNodeConfig(vm.customData);
  const kubelet = config?.kubelet_config;
  if (kubelet === undefined) return null;
  const flags = kubelet.kubelet_flags ?? {};
  const memoryMib = Math.floor(size.memoryGib * 1024 * VISIBLE_MEMORY);
  const reserved = Object.fromEntries((flags['--kube-reserved'] ?? '').split(',').map((pair) => pair.split('=')));
  const reservedCpu = Number.parseInt(String(reserved['cpu'] ?? '0m'), 10);
  const reservedMemory = Number.parseInt(String(reserved['memory'] ?? '0Mi'), 10);
  const pods = flags['--max-pods'] ?? '110';
  const gpus = size.gpus === undefined ? {} : { 'nvidia.com/gpu': size.gpus };
  const disk = { 'ephemeral-storage': '134217728Ki' };
  return {
    name: vm.computerName,
    providerId: `azure://${vm.id.replace(/resourceGroups\/[^/]+/i, (group) => group.toLowerCase().replace('resourcegroups', 'resourceGroups'))}`,
    labels: kubelet.kubelet_node_labels ?? {},
    taints: parseTaints(flags['--register-with-taints'] ?? ''),
    capacity: { cpu: String(size.vCpus), memory: `${memoryMib}Mi`, pods, ...gpus, ...disk },
    allocatable: {
      cpu: `${size.vCpus * 1000 - reservedCpu}m`,
      memory: `${memoryMib - reservedMemory - EVICTION_MIB}Mi`,
      pods,
      ...gpus,
      ...disk,
    },
    kubeletVersion: `v${config?.kubernetes_version ?? '1.36.3'}`,
    joinDelayMs,
    readyDelayMs,
  };
}

const EVICTION_MIB = 750;

function parseTaints(flag: string): MachineSpec['taints'] {
  return flag
    .split(',')
    .filter(Boolean)
    .map((text) => {
      const effect = text.slice(text.lastIndexOf(':') + 1);
      const [key = '', value] = text.slice(0, text.lastIndexOf(':')).split('=');
      return { key, effect, ...(value === undefined ? {} : { value }) };
    });
}
