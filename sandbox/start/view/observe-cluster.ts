import { connect, type Connection } from '../../kubernetes/client/connection.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import type { NodeClass } from '../../../shared/ports/kubernetes.ts';
import type { KubernetesObject, Node, Pod } from '../../kubernetes/client/objects.ts';
import { watchObjects, type Watched } from '../../kubernetes/client/watch-objects.ts';
import type { PodDisruptionBudget } from './held-up.ts';
import type { ClusterEvent, NodeClaim } from './cluster-objects.ts';

/** A live copy of what the display shows, and a word whenever it changes. */
export interface Observed {
  readonly connection: Connection;
  readonly pods: ReadonlyMap<string, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly claims: ReadonlyMap<string, NodeClaim>;
  readonly budgets: ReadonlyMap<string, PodDisruptionBudget>;
  readonly pools: ReadonlyMap<string, NodePool & KubernetesObject>;
  readonly classes: ReadonlyMap<string, NodeClass & KubernetesObject>;
  /** Nodewright's own events, which say why a pod waits. */
  readonly events: ReadonlyMap<string, ClusterEvent>;
  /** When each claim was first seen, milliseconds since the Unix epoch, by name. */
  readonly claimSeenAt: ReadonlyMap<string, number>;
  /** The same of each event, by namespace and name. */
  readonly eventSeenAt: ReadonlyMap<string, number>;
  close(): void;
}

/** Who is told. `onPod` gets every pod that changes; `onChange` is told of everything. */
export interface Observers {
  readonly onPod: (pod: Pod) => void;
  readonly onChange: () => void;
}

/** The nodes of the system pool come with the cluster; what is shown is what is provisioned. */
const NOT_SYSTEM = `labelSelector=${encodeURIComponent('kubernetes.azure.com/mode!=system')}`;

/** Watches pods, nodes, claims and Nodewright's events through the API; resolves once the first lists are in. */
export async function observeCluster(kubeconfig: string, { onPod, onChange }: Observers): Promise<Observed> {
  const connection = connect(kubeconfig);
  const claimSeenAt = new Map<string, number>();
  const eventSeenAt = new Map<string, number>();
  const common = { connection, onDelete: onChange };
  const pods = watchObjects<Pod>({
    ...common,
    path: '/api/v1/pods',
    query: '',
    onChange: (pod) => {
      onPod(pod);
      onChange();
    },
  });
  const nodes = watchObjects<Node>({ ...common, path: '/api/v1/nodes', query: NOT_SYSTEM, onChange });
  const claims = watchObjects<NodeClaim>({
    ...common,
    path: '/apis/karpenter.sh/v1/nodeclaims',
    query: '',
    onChange: ({ metadata }) => {
      if (!claimSeenAt.has(metadata.name)) claimSeenAt.set(metadata.name, Date.now());
      onChange();
    },
  });
  const pools = watchObjects<NodePool & KubernetesObject>({
    ...common,
    path: '/apis/karpenter.sh/v1/nodepools',
    query: '',
    onChange,
  });
  const classes = watchObjects<NodeClass & KubernetesObject>({
    ...common,
    path: '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
    query: '',
    onChange,
  });
  const budgets = watchObjects<PodDisruptionBudget>({
    ...common,
    path: '/apis/policy/v1/poddisruptionbudgets',
    query: '',
    onChange,
  });
  const events = watchObjects<ClusterEvent>({
    ...common,
    path: '/api/v1/events',
    query: 'fieldSelector=reportingComponent%3Dkarpenter',
    onChange: ({ metadata: { namespace = '', name } }) => {
      const key = `${namespace}/${name}`;
      if (!eventSeenAt.has(key)) eventSeenAt.set(key, Date.now());
      onChange();
    },
  });
  const watched: ReadonlyArray<Pick<Watched<Pod>, 'synced' | 'close'>> = [
    pods,
    nodes,
    claims,
    budgets,
    pools,
    classes,
    events,
  ];
  await Promise.all(watched.map(({ synced }) => synced));
  return {
    connection,
    pods: pods.objects,
    nodes: nodes.objects,
    claims: claims.objects,
    budgets: budgets.objects,
    pools: pools.objects,
    classes: classes.objects,
    events: events.objects,
    claimSeenAt,
    eventSeenAt,
    close: () => {
      for (const one of watched) one.close();
      connection.close();
    },
  };
}
