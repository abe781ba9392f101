import type { Azure } from '../azure/running-azure.ts';
import type { VmView } from '../azure/arm/resources.ts';
import { readSizes } from '../azure/catalog/sizes.ts';
import type { Kubelets } from '../kubernetes/kubelet/kubelets.ts';
import type { MachineSpec } from '../kubernetes/kubelet/machine.ts';
import { readCustomData } from '../node/custom-data.ts';
import { missingFields, variablesOf } from '../node/node-controller.ts';
import { type ClusterNetwork, cannotJoin, kubeletOf, staysNotReady } from '../node/readiness.ts';
import type { Rng } from '../base/rng.ts';

/** What a machine's boot and end look like from the cluster. */
export interface MachinePace {
  /** From `vm-running` until its kubelet registers, milliseconds: half to one and a half times this, by seed. */
  readonly joinMs: number;
  /** From registration to Ready, milliseconds. */
  readonly readyMs: number;
  /** From the machine's end until the cloud provider removes its Node, milliseconds; null: it stays. */
  readonly nodeRemovalMs: number | null;
}

/** What machines live between. */
export interface MachineParts {
  readonly azure: Azure;
  readonly kubelets: Kubelets;
  /** The cluster's, which its nodes have to match. */
  readonly network: ClusterNetwork;
  /** Told why a machine does not join, or joins and stays not ready. */
  readonly onLine: (line: string) => void;
}

/**
 * Lets VMs of the Azure double become nodes of the cluster, as their images do: a VM that runs reads its custom data,
 * and its kubelet joins with the labels and taints it finds there; an eviction notice shows as a node condition within
 * two seconds; a VM that is gone takes its kubelet along. The answer ends it.
 */
export function connectMachines(
  { azure, kubelets, network, onLine }: MachineParts,
  rng: Rng,
  pace: MachinePace,
): () => void {
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
        const delays = { joinDelayMs, readyDelayMs: pace.readyMs };
        const spec = toMachine(event.vm, sizeOf(event.vm), delays, network);
        // A machine that finds nothing to start with boots and never joins, as in Azure.
        if (event.vm.bootExitCode !== 0)
          return onLine(`${event.vm.name} does not join: its set-up ended with ${event.vm.bootExitCode}`);
        if (typeof spec === 'string') return onLine(`${event.vm.name} does not join: ${spec}`);
        if (spec.neverReady !== undefined) onLine(`${event.vm.name} stays not ready: ${spec.neverReady}`);
        void join(spec).catch(() => undefined);
        return;
      }
      case 'vm-preempt-notice':
        if (hasDetector(event.vm)) announce(event.vm.computerName, preemption(event.notBefore, event.eventId));
        return;
      case 'vm-scheduled-event':
        if (hasDetector(event.vm)) announce(event.vm.computerName, maintenance(event));
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

/** AKS's extension brings the node-problem-detector, which is who reports what Azure announces. */
function hasDetector({ extensions }: VmView): boolean {
  return extensions.includes('computeakslinuxbilling');
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

/** The part of its memory that a VM's operating system sees; AKS plans with 7.5 % less than the nominal size. */
const VISIBLE_MEMORY = 0.935;

function toMachine(
  vm: VmView,
  size: { readonly vCpus: number; readonly memoryGib: number; readonly gpus: string | undefined },
  delays: Pick<MachineSpec, 'joinDelayMs' | 'readyDelayMs'>,
  network: ClusterNetwork,
): MachineSpec | string {
  const read = readCustomData(vm.customData);
  if (read.kind === 'unreadable') return read.why;
  const { config } = read;
  const variables = variablesOf(config);
  const obstacle = cannotJoin(variables, missingFields(config));
  if (obstacle !== null) return obstacle;
  const { flags, labels } = kubeletOf(config);
  const neverReady = staysNotReady(network, { variables, labels, flags });
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
    labels,
    taints: parseTaints(flags['--register-with-taints'] ?? ''),
    capacity: { cpu: String(size.vCpus), memory: `${memoryMib}Mi`, pods, ...gpus, ...disk },
    allocatable: {
      cpu: `${size.vCpus * 1000 - reservedCpu}m`,
      memory: `${memoryMib - reservedMemory - EVICTION_MIB}Mi`,
      pods,
      ...gpus,
      ...disk,
    },
    kubeletVersion: `v${variables['KUBERNETES_VERSION'] ?? ''}`,
    ...delays,
    ...(neverReady === null ? {} : { neverReady }),
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
