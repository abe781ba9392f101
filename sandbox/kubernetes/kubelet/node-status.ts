import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import type { StringMap, Taint } from '../client/objects.ts';
import { toTime } from '../timestamp.ts';
import type { Machine } from './machine.ts';

/** The taint a Node carries until the cloud provider has looked at it. */
export const uninitializedTaint: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

/** The Node as the kubelet registers it: labels, taints and a first status, not ready. */
export function renderNode(machine: Machine, nowMs: number): object {
  const { spec } = machine;
  const taints = spec.cloudInitMs === undefined ? spec.taints : [...spec.taints, uninitializedTaint];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: spec.name,
      labels: nodeLabels(machine),
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: { providerID: spec.providerId, ...(taints.length > 0 ? { taints } : {}) },
    status: renderNodeStatus(machine, nowMs),
  };
}

function nodeLabels({ spec }: Machine): StringMap {
  const arch = spec.labels['kubernetes.io/arch'] ?? 'amd64';
  const os = spec.labels['kubernetes.io/os'] ?? 'linux';
  return {
    'kubernetes.io/hostname': spec.name,
    'kubernetes.io/arch': arch,
    'kubernetes.io/os': os,
    'beta.kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': os,
    ...spec.labels,
  };
}

/** The first status of a Node: full capacity, addresses, not ready yet. */
export function renderNodeStatus(machine: Machine, nowMs: number): object {
  const { spec, hostIp } = machine;
  const conditions = [
    ...pressureConditions(nowMs),
    ...(spec.conditions ?? []).map((condition) => stamped(condition, nowMs)),
    readyCondition(false, nowMs, spec.neverReady),
  ];
  return {
    capacity: spec.capacity,
    allocatable: spec.allocatable,
    addresses: [
      { type: 'InternalIP', address: hostIp },
      { type: 'Hostname', address: spec.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      architecture: spec.labels['kubernetes.io/arch'] ?? 'amd64',
      operatingSystem: spec.labels['kubernetes.io/os'] ?? 'linux',
      kubeletVersion: spec.kubeletVersion,
      kubeProxyVersion: '',
      containerRuntimeVersion: 'containerd://2.0.0',
      kernelVersion: '6.8.0-azure',
      osImage: 'Ubuntu 24.04 LTS',
      machineID: spec.name,
      systemUUID: spec.name,
      bootID: `${spec.name}-${nowMs}`,
    },
    conditions,
  };
}

/** What every kubelet says before the network has come up. */
const CNI_MISSING = 'cni plugin not initialized';

/** The kubelet's Ready condition. */
export function readyCondition(ready: boolean, nowMs: number, whyNot = CNI_MISSING): object {
  return ready
    ? beating('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status', nowMs)
    : beating('Ready', 'False', 'KubeletNotReady', `container runtime network not ready: ${whyNot}`, nowMs);
}

/** A condition with its heartbeat and transition set to now. */
export function stamped(condition: Condition, nowMs: number): object {
  return { ...condition, lastHeartbeatTime: toTime(nowMs), lastTransitionTime: toTime(nowMs) };
}

function pressureConditions(nowMs: number): ReadonlyArray<object> {
  return [
    beating('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available', nowMs),
    beating('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure', nowMs),
    beating('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available', nowMs),
  ];
}

// One row of a table of conditions.
function beating(type: string, status: string, reason: string, message: string, nowMs: number): object {
  return stamped({ type, status, reason, message }, nowMs);
}
