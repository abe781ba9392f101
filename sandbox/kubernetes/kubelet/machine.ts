import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import type { StringMap, Taint } from '../client/objects.ts';
import type { HostPort } from '../pod-requests.ts';
import type { Amounts } from '../quantity.ts';

/** A VM that runs a kubelet, as whoever made it describes it. Quantities are Kubernetes quantities. */
export interface MachineSpec {
  /** The Node's name. */
  readonly name: string;
  readonly providerId: string;
  /** Labels the kubelet registers with; hostname, operating system and architecture are added where absent. */
  readonly labels: StringMap;
  /** Taints the kubelet registers with, as by `--register-with-taints`. */
  readonly taints: ReadonlyArray<Taint>;
  readonly capacity: StringMap;
  readonly allocatable: StringMap;
  /** For example `v1.34.2`. */
  readonly kubeletVersion: string;
  /** From now until the Node object is there: boot and bootstrap. 0 unless told. */
  readonly joinDelayMs?: number;
  /** From registration until Ready: network plug-in and runtime. 1 s unless told. */
  readonly readyDelayMs?: number;
  /** Why it never becomes Ready, as its condition says it; absent: it does. */
  readonly neverReady?: string;
  /** With an external cloud provider: how long the uninitialized taint stays. Absent: the taint is never set. */
  readonly cloudInitMs?: number;
  /** Conditions beside the kubelet's own, for example node-problem-detector's at start. */
  readonly conditions?: ReadonlyArray<Condition>;
}

/** What a pod holds on its machine. */
export interface Admitted {
  readonly requests: Amounts;
  readonly ports: ReadonlyArray<HostPort>;
}

/** A machine and what its kubelet knows. Mutable: it belongs to the kubelets of one process. */
export interface Machine {
  readonly spec: MachineSpec;
  readonly allocatable: Amounts;
  readonly hostIp: string;
  /** The first three octets of its pods' addresses. */
  readonly podNetwork: string;
  /** Joining: no Node yet. Running: the kubelet works. Frozen: it hangs. Gone: the machine is removed. */
  phase: 'joining' | 'running' | 'frozen' | 'gone';
  uid: string;
  pods: number;
  renewAt: number;
  /** By pod uid. */
  readonly admitted: Map<string, Admitted>;
}
