import { createSnapshotBuilder } from '../../../shared/contract/snapshot/builder.ts';
import { drawFrom, type Draw } from '../../../shared/core/quantity/draw.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { readyClass, uidOf } from '../kit/large-cluster-snapshot.ts';
import { toInput, variants } from '../kit/priced-workloads.ts';

/** A cluster some of whose pods have gone: nodes of several sizes, their pods drawn. */
export interface ScaledDown {
  readonly nodes: number;
  /** All pods, those of two DaemonSets included. */
  readonly pods: number;
  /** Share of the nodes' CPU that pods ask for. */
  readonly use: number;
  readonly apps: number;
  /** Its nodes have one size each, and the pool wants no others: nothing is cheaper, only fuller. */
  readonly seed: number;
}

const requirements = variants['general+nap'] ?? [];

/** D, E and F up to 32 vCPU, with real prices. */
export const scaledDownTypes: ReadonlyArray<InstanceType> = toInput([], requirements).catalog.get('default') ?? [];

/** WhenEmptyOrUnderutilized with Karpenter's budget of a tenth. */
export const scaledDownPool: NodePool = {
  metadata: { name: 'default', uid: uidOf(8, 0) },
  spec: {
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '0s',
      budgets: [{ nodes: '10%' }],
    },
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements,
        expireAfter: 'Never',
      },
    },
  },
};

/** The sizes that its nodes have, which are among the cheaper ones for what they hold. */
const SIZES = ['Standard_D8as_v6', 'Standard_D16as_v6', 'Standard_E16as_v6', 'Standard_F16s_v2', 'Standard_D32as_v6'];
const ZONES = ['westeurope-1', 'westeurope-2', 'westeurope-3'] as const;
const DAEMONS = [
  { name: 'net', cpuM: 100, mib: 128 },
  { name: 'logs', cpuM: 50, mib: 200 },
] as const;

interface Machine {
  readonly name: string;
  readonly index: number;
  readonly zone: string;
  readonly type: InstanceType;
  cpuM: number;
  mib: number;
  pods: number;
  readonly most: { readonly cpuM: number; readonly mib: number };
}

/** The snapshot that a relay would publish of it. */
export function scaledDownSnapshot(cluster: ScaledDown): Uint8Array {
  const draw = drawFrom(cluster.seed);
  const builder = createSnapshotBuilder('bench');
  const machines = Array.from({ length: cluster.nodes }, (_, index) => machineOf(index, draw));
  for (const machine of machines) {
    builder.upsert('nodes', nodeOf(machine));
    builder.upsert('nodeclaims', claimOf(machine));
  }
  for (const [index, daemon] of DAEMONS.entries()) builder.upsert('daemonsets', daemonSetOf(index, daemon));
  let made = 0;
  for (const machine of machines) {
    for (const index of DAEMONS.keys()) builder.upsert('pods', daemonPodOf(made++, index, machine));
  }
  const apps = appsOf(cluster, machines, draw);
  const weights = apps.map(({ replicas }) => replicas);
  const total = weights.reduce((sum, one) => sum + one, 0);
  const wanted = cluster.pods - made;
  for (const [index, app] of apps.entries()) {
    if (app.hasBudget) builder.upsert('poddisruptionbudgets', budgetOf(index));
    const replicas = Math.max(1, Math.round((wanted * app.replicas) / total));
    for (let one = 0; one < replicas; one++) {
      const machine = machineFor(machines, { app, one }, draw);
      if (machine !== null) builder.upsert('pods', podOf(made++, { app, index, machine }));
    }
  }
  builder.upsert('nodepools', scaledDownPool);
  builder.upsert('aksnodeclasses', readyClass);
  builder.setResourceVersion('nodeclaims', '1');
  return builder.encode({ version: 'bench', takenAtMs: 1, source: 'relay' });
}

function machineOf(index: number, draw: Draw): Machine {
  const name = SIZES[draw.below(SIZES.length)];
  const type = scaledDownTypes.find((one) => one.name === name);
  if (type === undefined) throw new Error(`there is no size ${name ?? ''}`);
  const most = {
    cpuM: Number.parseInt(String(type.capacity['cpu']), 10),
    mib: Number.parseInt(String(type.capacity['memory']), 10),
  };
  const [cpuM, mib] = [150, 328];
  return {
    name: `node-${String(index).padStart(5, '0')}`,
    index,
    zone: ZONES[index % 3] ?? '',
    type,
    cpuM,
    mib,
    pods: 2,
    most,
  };
}

interface App {
  readonly cpuM: number;
  readonly mib: number;
  readonly replicas: number;
  readonly kind: 'plain' | 'zones' | 'hosts';
  readonly hasBudget: boolean;
}

function appsOf(
  { apps, use, pods, nodes }: ScaledDown,
  machines: ReadonlyArray<Machine>,
  draw: Draw,
): ReadonlyArray<App> {
  const cores = machines.reduce((sum, { most }) => sum + most.cpuM, 0);
  const each = (cores * use - 150 * nodes) / (pods - DAEMONS.length * nodes);
  return Array.from({ length: apps }, (): App => {
    const cpuM = Math.max(20, Math.round((each * (0.3 + 1.4 * draw.share())) / 10) * 10);
    const kind = draw.below(10);
    return {
      cpuM,
      mib: Math.round(cpuM * (1 + 3 * draw.share())),
      replicas: 1 + Math.round(20 * draw.share() ** 3 * 20),
      kind: kind < 3 ? 'zones' : kind < 4 ? 'hosts' : 'plain',
      hasBudget: draw.below(5) === 0,
    };
  });
}

const TRIES = 60;

/** Where what is asked for is still missing on a node; a spread goes round the zones. */
function machineFor(
  machines: ReadonlyArray<Machine>,
  { app, one }: { app: App; one: number },
  draw: Draw,
): Machine | null {
  for (let tries = 0; tries < TRIES; tries++) {
    const drawn = machines[draw.below(machines.length)];
    const at =
      drawn === undefined ? 0 : app.kind === 'zones' ? drawn.index - (drawn.index % 3) + (one % 3) : drawn.index;
    const machine = machines[at];
    if (machine === undefined || machine.pods >= 100) continue;
    if (machine.cpuM + app.cpuM > machine.most.cpuM * 0.9 || machine.mib + app.mib > machine.most.mib * 0.95) continue;
    machine.cpuM += app.cpuM;
    machine.mib += app.mib;
    machine.pods++;
    return machine;
  }
  return null;
}

function labelsOf({ name, zone, type }: Machine): Readonly<Record<string, string>> {
  const fixed = Object.entries(type.labels).map(([key, [value = '']]) => [key, value] as const);
  return {
    ...Object.fromEntries(fixed),
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': type.name,
    'topology.kubernetes.io/zone': zone,
    'karpenter.sh/capacity-type': 'on-demand',
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  };
}

function nodeOf(machine: Machine): object {
  const { name, index, type } = machine;
  return {
    metadata: { name, uid: uidOf(6, index), labels: labelsOf(machine) },
    spec: { providerID: `azure:///${name}` },
    status: { capacity: type.capacity, allocatable: type.capacity, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function claimOf(machine: Machine): object {
  const { name, index, type } = machine;
  const { template } = scaledDownPool.spec;
  const kinds = ['Launched', 'Registered', 'Initialized', 'Consolidatable', 'Ready'];
  return {
    metadata: {
      name: `claim-${index}`,
      uid: uidOf(7, index),
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels: labelsOf(machine),
    },
    spec: template.spec,
    status: {
      providerID: `azure:///${name}`,
      nodeName: name,
      capacity: type.capacity,
      allocatable: type.capacity,
      conditions: kinds.map((kind) => ({ type: kind, status: 'True', lastTransitionTime: '2026-11-01T00:00:00Z' })),
    },
  };
}

function daemonSetOf(index: number, { name, cpuM, mib }: (typeof DAEMONS)[number]): object {
  return {
    metadata: { name, namespace: 'kube-system', uid: uidOf(9, index) },
    spec: {
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [containerOf(cpuM, mib)], tolerations: [{ operator: 'Exists' }] },
      },
    },
  };
}

function containerOf(cpuM: number, mib: number): object {
  const requests = { cpu: `${cpuM}m`, memory: `${mib}Mi` };
  return { name: 'main', image: 'example.azurecr.io/main:1', resources: { requests } };
}

const RUNNING = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

function daemonPodOf(number: number, index: number, machine: Machine): object {
  const { name, cpuM, mib } = DAEMONS[index] ?? DAEMONS[0];
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: uidOf(9, index), controller: true };
  return {
    metadata: {
      name: `${name}-${number}`,
      namespace: 'kube-system',
      uid: uidOf(1, number),
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels: { app: name },
      ownerReferences: [owner],
    },
    spec: { nodeName: machine.name, containers: [containerOf(cpuM, mib)], tolerations: [{ operator: 'Exists' }] },
    status: RUNNING,
  };
}

function podOf(number: number, { app, index, machine }: { app: App; index: number; machine: Machine }): object {
  const labels = { app: `app-${index}` };
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `app-${index}`,
    uid: uidOf(2, index),
    controller: true,
  };
  const key = app.kind === 'zones' ? 'topology.kubernetes.io/zone' : 'kubernetes.io/hostname';
  const spread = {
    maxSkew: app.kind === 'zones' ? 2 : 5,
    topologyKey: key,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  return {
    metadata: {
      name: `app-${index}-${number}`,
      namespace: `team-${index % 40}`,
      uid: uidOf(1, number),
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels,
      ownerReferences: [owner],
    },
    spec: {
      nodeName: machine.name,
      containers: [containerOf(app.cpuM, app.mib)],
      ...(app.kind === 'plain' ? {} : { topologySpreadConstraints: [spread] }),
    },
    status: RUNNING,
  };
}

function budgetOf(index: number): object {
  return {
    metadata: { name: `app-${index}`, namespace: `team-${index % 40}`, uid: uidOf(5, index) },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: `app-${index}` } } },
    status: { disruptionsAllowed: 1 },
  };
}
