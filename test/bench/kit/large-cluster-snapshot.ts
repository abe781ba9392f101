import { createSnapshotBuilder } from '../../../shared/contract/snapshot/builder.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { size, zones } from '../../kit/core/build.ts';

/** A cluster of nodes that are nearly full, as manifests. A third of the applications spread over zones. */
export interface LargeCluster {
  readonly nodes: number;
  /** Running pods a node. */
  readonly each: number;
  readonly waiting: number;
  readonly apps: number;
  /** Pods of any application on each node, so that no two nodes are alike; else of few. */
  readonly isMixed: boolean;
}

/** The sizes that its pool may have. */
export const largeClusterTypes: ReadonlyArray<InstanceType> = [2, 4, 8, 16, 32, 64].flatMap((cpu) => [
  size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 50_000),
  size(`Standard_E${cpu}s_v5`, cpu, cpu * 8, cpu * 65_000),
  size(`Standard_D${cpu}ls_v6`, cpu, cpu * 2, cpu * 44_000),
]);

/** The snapshot that a relay would publish of it. */
export function largeClusterSnapshot(cluster: LargeCluster): Uint8Array {
  const { nodes, each, waiting } = cluster;
  const builder = createSnapshotBuilder('bench');
  for (let index = 0; index < nodes; index++) builder.upsert('nodes', nodeOf(index));
  for (let index = 0; index < nodes * each; index++) {
    builder.upsert('pods', podOf(cluster, index, `node-${index % nodes}`));
  }
  for (let index = 0; index < waiting; index++) builder.upsert('pods', podOf(cluster, nodes * each + index, null));
  builder.upsert('nodepools', largeClusterPool);
  builder.upsert('aksnodeclasses', readyClass);
  return builder.encode({ version: 'bench', takenAtMs: 1, source: 'relay' });
}

/** Its one pool. */
export const largeClusterPool: NodePool = {
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
      },
    },
  },
};

/** A uid like those of the API server, derived. */
export function uidOf(kind: number, index: number): string {
  return `${kind.toString(16).padStart(8, '0')}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;
}

/** The node class of a pool that may be planned for. */
export const readyClass = {
  metadata: { name: 'default' },
  spec: {},
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

/** What tells that the scheduler found no node for a pod. */
export const waitingStatus = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
};

function podOf({ apps, isMixed }: LargeCluster, index: number, nodeName: string | null): object {
  const app =
    isMixed && nodeName !== null ? Math.floor(((index * 2_654_435_761) % 2 ** 32) / 2 ** 16) % apps : index % apps;
  const labels = { app: `app-${app}` };
  const spread = {
    maxSkew: 1,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const requests = { cpu: `${100 + 50 * (app % 17)}m`, memory: `${128 * (1 + (app % 23))}Mi` };
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `app-${app}`, uid: uidOf(2, app) };
  return {
    metadata: {
      name: `app-${app}-${index}`,
      namespace: `team-${app % 40}`,
      uid: uidOf(1, index),
      creationTimestamp: '2026-11-01T00:00:00Z',
      labels,
      ownerReferences: [{ ...controller, controller: true }],
    },
    spec: {
      ...(nodeName === null ? {} : { nodeName }),
      containers: [{ name: 'main', image: 'example.azurecr.io/main:1', resources: { requests } }],
      ...(app % 3 === 0 ? { topologySpreadConstraints: [spread] } : {}),
    },
    status: nodeName === null ? waitingStatus : { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function nodeOf(index: number): object {
  const name = `node-${index}`;
  return {
    metadata: {
      name,
      uid: uidOf(6, index),
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': zones[index % 3],
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
    },
    spec: {},
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '31' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '31' },
    },
  };
}
