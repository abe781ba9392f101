import { isApiError } from '../client/connection.ts';
import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import { hasCondition, podPath, type Lease, type Node, type Pod, type Taint } from '../client/objects.ts';
import { toTime } from '../timestamp.ts';
import { isSameJson, type ControllerContext, type Shared } from './controller-context.ts';
import { inParallel } from './pod-control.ts';

const MONITOR_MS = 5_000;

const conditionTaints: Readonly<Record<string, string>> = {
  MemoryPressure: 'node.kubernetes.io/memory-pressure',
  DiskPressure: 'node.kubernetes.io/disk-pressure',
  PIDPressure: 'node.kubernetes.io/pid-pressure',
  NetworkUnavailable: 'node.kubernetes.io/network-unavailable',
};
const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
/** Conditions that only the kubelet knows: without it they are unknown. */
const kubeletConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

const managed = new Set([...Object.values(conditionTaints), NOT_READY, UNREACHABLE, UNSCHEDULABLE]);

/** When a node last gave a sign, by this process' clock: nodes' own clocks are not trusted. */
interface Sign {
  readonly at: number;
  /** Its Lease's time and its Ready condition: what changes when it reports. */
  readonly sign: string;
}

/**
 * Watches over nodes: one that has been silent for `graceMs` becomes Unknown and its pods not ready; conditions and
 * cordons become taints.
 */
export function runNodeLifecycle(context: ControllerContext, leases: Shared<Lease>, graceMs: number): void {
  const signs = new Map<string, Sign>();
  const loop = context.loop('node-lifecycle', async (name) => {
    const node = context.nodes.objects.get(name);
    if (node !== undefined) await applyTaints(context, node);
  });
  context.nodes.listen({
    onChange: (node) => {
      loop.enqueue(node.metadata.name);
    },
    onDelete: ({ metadata }) => signs.delete(metadata.name),
  });
  context.every(Math.min(MONITOR_MS, Math.ceil(graceMs / 4)), async () => {
    for (const node of context.nodes.objects.values()) await watchOver(context, node, { leases, graceMs, signs });
  });
}

interface Watch {
  readonly leases: Shared<Lease>;
  readonly graceMs: number;
  readonly signs: Map<string, Sign>;
}

async function watchOver(context: ControllerContext, node: Node, { leases, graceMs, signs }: Watch): Promise<void> {
  const { name } = node.metadata;
  const now = context.clock.now();
  const lease = leases.objects.get(`kube-node-lease/${name}`);
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'Unknown') return;
  const sign = `${lease?.spec?.renewTime ?? ''} ${JSON.stringify(ready ?? null)}`;
  const known = signs.get(name);
  if (known?.sign !== sign) signs.set(name, { at: now, sign });
  if (known?.sign !== sign || now - known.at <= graceMs) return;
  const at = toTime(now);
  const conditions: ReadonlyArray<Condition> = kubeletConditions.map((type) => ({
    type,
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    lastTransitionTime: at,
  }));
  await context.connection.patch(`/api/v1/nodes/${name}/status`, 'strategic', { status: { conditions } });
  signs.delete(name);
  await inParallel(
    context.podsOn(name).filter(({ status }) => hasCondition(status?.conditions, 'Ready')),
    (pod) => markNotReady(context, pod, at),
  );
}

async function markNotReady({ connection }: ControllerContext, pod: Pod, at: string): Promise<void> {
  const { uid } = pod.metadata;
  const conditions = [{ type: 'Ready', status: 'False', reason: 'NodeNotReady', lastTransitionTime: at }];
  try {
    await connection.patch(`${podPath(pod)}/status`, 'strategic', { metadata: { uid }, status: { conditions } });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}

async function applyTaints({ connection, clock }: ControllerContext, node: Node): Promise<void> {
  const taints = node.spec?.taints ?? [];
  const wanted = taintsOf(node);
  const kept = taints.filter((taint) => !managed.has(taint.key) || wanted.some((other) => isSame(taint, other)));
  const added = wanted.filter((taint) => !taints.some((other) => isSame(taint, other)));
  const next = [...kept, ...added.map((taint) => ({ ...taint, timeAdded: toTime(clock.now()) }))];
  if (isSameJson(next, taints)) return;
  const { name, resourceVersion } = node.metadata;
  try {
    await connection.patch(`/api/v1/nodes/${name}`, 'merge', { metadata: { resourceVersion }, spec: { taints: next } });
  } catch (error) {
    // The newer version is on its way and asks for a pass of its own.
    if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
  }
}

function taintsOf({ spec, status }: Node): ReadonlyArray<Taint> {
  const wanted: Array<Taint> = [];
  const conditions = new Map((status?.conditions ?? []).map((condition) => [condition.type, condition.status]));
  for (const [type, key] of Object.entries(conditionTaints)) {
    if (conditions.get(type) === 'True') wanted.push({ key, effect: 'NoSchedule' });
  }
  // A node that has not reported yet is left as it is: admission has tainted it.
  const ready = conditions.get('Ready') ?? 'False';
  const sick = ready === 'False' ? NOT_READY : UNREACHABLE;
  if (ready !== 'True') wanted.push({ key: sick, effect: 'NoSchedule' });
  if (ready !== 'True' && conditions.has('Ready')) wanted.push({ key: sick, effect: 'NoExecute' });
  if (spec?.unschedulable === true) wanted.push({ key: UNSCHEDULABLE, effect: 'NoSchedule' });
  return wanted;
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}
