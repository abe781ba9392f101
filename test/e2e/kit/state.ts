import type { Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Sandbox } from '../../../sandbox/world/sandbox.ts';

interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: ReadonlyArray<{
    readonly kind: string;
    readonly name: string;
    readonly blockOwnerDeletion?: boolean;
  }>;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Pod {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName?: string; readonly nodeSelector?: Readonly<Record<string, string>> };
  readonly status: { readonly phase?: string; readonly conditions?: ReadonlyArray<Condition> };
}

export interface Claim {
  readonly metadata: Meta;
  readonly spec: { readonly expireAfter?: string; readonly terminationGracePeriod?: string };
  readonly status?: {
    readonly providerID?: string;
    readonly nodeName?: string;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

export interface Node {
  readonly metadata: Meta;
  readonly spec: {
    readonly providerID?: string;
    readonly taints?: ReadonlyArray<{ readonly key: string; readonly effect: string }>;
  };
}

export interface Definition {
  readonly metadata: Meta;
  readonly status?: {
    readonly nodes?: number;
    readonly resources?: Readonly<Record<string, string>>;
    readonly conditions?: ReadonlyArray<Condition>;
  };
}

/** Everything that the tests look at, read at one time or nearly so. System nodes and pods are left out. */
export interface State {
  readonly pods: ReadonlyArray<Pod>;
  readonly claims: ReadonlyArray<Claim>;
  readonly nodes: ReadonlyArray<Node>;
  readonly vms: ReturnType<Sandbox['azure']['vms']>;
}

interface List<Item> {
  readonly items: ReadonlyArray<Item>;
}

/** Reads the cluster and Azure. */
export async function readState(sandbox: Sandbox, api: Connection): Promise<State> {
  const [pods, claims, nodes] = await Promise.all([
    api.get<List<Pod>>('/api/v1/namespaces/default/pods'),
    api.get<List<Claim>>('/apis/karpenter.sh/v1/nodeclaims'),
    api.get<List<Node>>('/api/v1/nodes'),
  ]);
  return {
    pods: pods.items,
    claims: claims.items,
    nodes: nodes.items.filter(({ metadata }) => metadata.name.startsWith('aks-') && !isSystem(metadata.name)),
    vms: sandbox.azure.vms(),
  };
}

function isSystem(name: string): boolean {
  return name.startsWith('aks-system-');
}

export function conditionOf(
  object: { readonly status?: { readonly conditions?: ReadonlyArray<Condition> } },
  type: string,
): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

export function isTrue(
  object: { readonly status?: { readonly conditions?: ReadonlyArray<Condition> } },
  type: string,
): boolean {
  return conditionOf(object, type)?.status === 'True';
}

/** Do all machines have AKS's extension? It comes after a node has joined, and tells the node of evictions. */
export function areEquipped({ vms }: Pick<State, 'vms'>): boolean {
  return vms.every(({ extensions }) => extensions.includes('computeakslinuxbilling'));
}

export function isRunning(pod: Pod): boolean {
  return pod.status.phase === 'Running' && pod.metadata.deletionTimestamp === undefined;
}

/** The state as a person reads it when a wait is over before its time. */
export function renderState({ pods, claims, nodes, vms }: State): string {
  const byNode = Map.groupBy(pods, ({ spec }) => spec.nodeName ?? '(no node)');
  const line = (title: string, entries: ReadonlyArray<string>): string =>
    `${title} (${entries.length}): ${entries.slice(0, LISTED_MAX).join(' · ')}`;
  return [
    line(
      'pods',
      [...byNode].map(([node, some]) => `${some.filter(isRunning).length} of ${some.length} run on ${node}`),
    ),
    line(
      'claims',
      claims.map((claim) => `${nameOf(claim)} ${renderConditions(claim)}`),
    ),
    line(
      'nodes',
      nodes.map((node) => `${nameOf(node)} [${(node.spec.taints ?? []).map(({ key }) => key).join(' ')}]`),
    ),
    line(
      'VMs',
      vms.map((vm) => `${vm.name} ${vm.size} ${vm.capacityType} ${vm.provisioningState} ${vm.powerState}`),
    ),
  ].join('\n');
}

/** More of one kind only hide the rest. */
const LISTED_MAX = 25;

function nameOf({ metadata }: { readonly metadata: Meta }): string {
  return metadata.deletionTimestamp === undefined ? metadata.name : `${metadata.name}(deleting)`;
}

function renderConditions(claim: Claim): string {
  return (claim.status?.conditions ?? [])
    .filter(({ type }) => type !== 'Ready')
    .map(({ type, status, reason = '' }) => (status === 'True' ? type : `${type}=${reason}`))
    .join(' ');
}
