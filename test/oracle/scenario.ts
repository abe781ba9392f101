import type { Catalog, InstanceType } from '../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../shared/core/model/cluster.ts';
import type * as manifest from '../../shared/kubernetes/manifest.ts';
import type { Plan } from '../../shared/core/model/plan.ts';
import { plainCostOf } from '../../shared/core/model/weighed-cost.ts';
import { microUsdPerHour } from '../../shared/core/quantity/units.ts';
import {
  DEFAULT_WORK,
  DEVICES_IGNORED,
  KARPENTER_POLICY,
  type ProvisioningInput,
} from '../../shared/core/model/provisioning-input.ts';
import { EMPTY_CLUSTER } from '../kit/core/build.ts';

/** A scenario of the oracle, as its README describes it. */
export interface Scenario {
  readonly name: string;
  readonly objects: ReadonlyArray<{ readonly kind: string; readonly metadata: manifest.ObjectMeta }>;
  readonly karpenter: {
    readonly nodeClaims: ReadonlyArray<{
      readonly nodePool: string;
      readonly pods: ReadonlyArray<string>;
      readonly requirements: Readonly<Record<string, string>>;
      readonly instanceType: string;
      readonly zone: string;
      readonly capacityType: 'spot' | 'on-demand';
    }>;
    readonly nominations: ReadonlyArray<{ readonly node: string; readonly pods: ReadonlyArray<string> }>;
    readonly left: ReadonlyArray<{ readonly pods: ReadonlyArray<string> }>;
    /** The same pods were left in every run, and no run broke a rule. */
    readonly strict: boolean;
    /** The fewest pods that any run placed. */
    readonly minPlaced: number;
  };
}

/** The oracle's catalog file. */
export interface OracleCatalog {
  readonly instanceTypes: ReadonlyArray<{
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly capacity: manifest.ResourceList;
    readonly overhead: manifest.ResourceList;
    readonly offerings: ReadonlyArray<{
      readonly zone: string;
      readonly capacityType: 'spot' | 'on-demand';
      readonly pricePerHour: string;
      readonly available: boolean;
    }>;
  }>;
}

/** When the first pending pod of a scenario was created: any moment will do. */
const FIRST_CREATED_MS = 1_780_000_000_000;

interface PodManifest {
  readonly metadata: manifest.ObjectMeta;
  readonly spec: manifest.PodSpec & { readonly nodeName?: string };
}

/** The scenario as the planner reads a cluster. */
export function toInput(scenario: Scenario, oracle: OracleCatalog): ProvisioningInput {
  const cluster = toCluster(scenario);
  const types = oracle.instanceTypes.map(toInstanceType);
  const catalog: Catalog = new Map(cluster.nodePools.map(({ metadata }) => [metadata.name, types]));
  return {
    cluster,
    catalog,
    inFlight: new Map(),
    policy: KARPENTER_POLICY,
    work: DEFAULT_WORK,
    devices: DEVICES_IGNORED,
    foreignPools: [],
    evictionCostMs: new Map(),
    held: [],
  };
}

function toCluster({ objects }: Scenario): Cluster {
  // The oracle's objects are ordinary manifests: each list is of the type that its place in the cluster says.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  const ofKind = <T>(kind: string): ReadonlyArray<T> =>
    objects.filter((object) => object.kind === kind) as unknown as ReadonlyArray<T>;
  const pods = ofKind<PodManifest>('Pod');
  return {
    ...EMPTY_CLUSTER,
    shapes: pods.map(toShape),
    pods: pods.map(toPod),
    nodes: ofKind<manifest.Node>('Node').map((node) => ({ ...node, status: { ...node.status } })),
    nodePools: ofKind('NodePool'),
    daemonSets: ofKind('DaemonSet'),
    persistentVolumeClaims: ofKind<manifest.PersistentVolumeClaim>('PersistentVolumeClaim'),
    persistentVolumes: ofKind('PersistentVolume'),
    storageClasses: ofKind('StorageClass'),
    namespaces: ofKind('Namespace'),
  };
}

function toShape({ metadata, spec }: PodManifest): PodShape {
  const owners = metadata.ownerReferences ?? [];
  return {
    namespace: metadata.namespace ?? 'default',
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    owner: owners.find(({ controller }) => controller === true) ?? owners[0] ?? null,
    spec,
  };
}

function toPod({ metadata, spec }: PodManifest, index: number): Pod {
  return {
    name: metadata.name,
    uid: `${metadata.namespace ?? 'default'}/${metadata.name}`,
    shape: index,
    createdAtMs: FIRST_CREATED_MS + index * 1000,
    startedAtMs: spec.nodeName === undefined ? null : FIRST_CREATED_MS + index * 1000,
    nodeName: spec.nodeName ?? null,
    nominatedNodeName: null,
    unschedulable: spec.nodeName === undefined,
    deleting: false,
    running: spec.nodeName !== undefined,
    ready: spec.nodeName !== undefined,
  };
}

function toInstanceType(type: OracleCatalog['instanceTypes'][number]): InstanceType {
  return {
    name: type.name,
    labels: Object.fromEntries(Object.entries(type.labels).map(([key, value]) => [key, [value]])),
    capacity: type.capacity,
    overhead: type.overhead,
    offerings: type.offerings.map(({ zone, capacityType, pricePerHour, available }) => ({
      zone,
      capacityType,
      price: microUsdPerHour(Math.round(Number(pricePerHour) * 1e6)),
      available,
      labels: {},
    })),
  };
}

/** Karpenter's recorded decision as a plan of ours. Custom labels that it left open get the first value it allows. */
export function karpenterPlan({ karpenter }: Scenario, { cluster, catalog }: ProvisioningInput): Plan {
  const reference = (name: string) => ({ name, uid: name });
  const claims = karpenter.nodeClaims.map((claim): Plan['claims'][number] => {
    const { nodePool, instanceType, zone, capacityType, requirements } = claim;
    const { taints = [], startupTaints = [] } =
      cluster.nodePools.find(({ metadata }) => metadata.name === nodePool)?.spec.template.spec ?? {};
    const type = catalog.get(nodePool)?.find(({ name }) => name === instanceType);
    const found = type?.offerings.find((one) => one.zone === zone && one.capacityType === capacityType);
    const custom = Object.entries(requirements).filter(([key]) => key.startsWith('example.com/'));
    const values = custom.map(([key, text]): [string, string | null] => [
      key,
      text.startsWith('Exists') ? 'any' : (/^In \[(\S+?)[\] ]/.exec(text)?.[1] ?? null),
    ]);
    return {
      nodePool,
      offering: { instanceType, zone, capacityType, price: found?.price ?? microUsdPerHour(0) },
      fallbacks: [],
      runnerUp: null,
      cheaper: [],
      requirements: [
        {
          key: 'node.kubernetes.io/instance-type',
          operator: 'In',
          values: (catalog.get(nodePool) ?? []).map(({ name }) => name),
        },
      ],
      labels: Object.fromEntries(values.filter((pair): pair is [string, string] => pair[1] !== null)),
      annotations: {},
      taints,
      startupTaints,
      requests: {},
      pods: claim.pods.map(reference),
    };
  });
  return {
    claims,
    nominations: karpenter.nominations.map(({ node, pods }) => ({
      target: { kind: 'node', name: node },
      pods: pods.map(reference),
    })),
    buffers: [],
    devices: [],
    left: karpenter.left.flatMap(({ pods }) => pods.map((pod) => ({ pod: reference(pod), refusals: [] }))),
    cost: plainCostOf(claims),
    lowerBound: microUsdPerHour(0),
    weighed: { cost: plainCostOf(claims), lowerBound: microUsdPerHour(0) },
  };
}

/** The plan in the checker's form. */
export function toOraclePlan(plan: Plan): object {
  return {
    nodeClaims: plan.claims.map(({ nodePool, offering, pods, labels }) => ({
      nodePool,
      ...offering,
      pods: pods.map(({ name }) => name),
      labels,
    })),
    nominations: plan.nominations.map(({ target, pods }) => ({
      node: target.name,
      pods: pods.map(({ name }) => name),
    })),
    left: plan.left.map(({ pod }) => ({ pod: pod.name })),
  };
}
