import * as fc from 'fast-check';
import type { PodSpec } from '../../../../shared/kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { daemonSet, input, node, offering, pods, pool, shape, size, zones } from '../../../kit/core/build.ts';

/** A cluster so small that every plan for it can be tried. Cores in thousandths, memory in MiB, zones by number. */
export interface SmallWorld {
  readonly sizes: ReadonlyArray<SmallSize>;
  readonly workloads: ReadonlyArray<Workload>;
  readonly daemons: ReadonlyArray<Daemon>;
  readonly nodes: ReadonlyArray<SmallNode>;
}

export interface SmallSize {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
  /** By zone, micro-USD; null where it is not to be had. */
  readonly prices: ReadonlyArray<number | null>;
}

export interface Workload {
  readonly cpu: number;
  readonly memory: number;
  readonly count: number;
  /** What several workloads may have in common. */
  readonly app: string;
  /** Of its own pods over zones; null for none. */
  readonly skew: number | null;
  /** Its pods and those it stays away from are in no zone, or on no host, together. */
  readonly apart: { readonly by: 'host' | 'zone'; readonly from: 'own' | 'app' } | null;
  /** All of its pods are in one zone. */
  readonly together: boolean;
  readonly ports: ReadonlyArray<Port>;
  /** The zone that it must be in; null for any. */
  readonly zone: number | null;
}

export interface Port {
  readonly port: number;
  readonly ip: string | null;
}

export interface Daemon {
  readonly cpu: number;
  readonly memory: number;
  readonly zone: number | null;
  readonly ports: ReadonlyArray<Port>;
}

/** A node that is there, with what is free beside the pods that run on it. */
export interface SmallNode {
  readonly zone: number;
  readonly cpu: number;
  readonly memory: number;
  /** Workloads, one for each pod. */
  readonly running: ReadonlyArray<number>;
}

const port = fc.record({
  port: fc.constantFrom(8080, 8080, 9090),
  ip: fc.constantFrom(null, null, null, '10.0.0.1', '10.0.0.2'),
});
const ports = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(port, { minLength: 1, maxLength: 2, selector: (one) => `${one.ip} ${one.port}` }),
  },
);

const apart = fc.constantFrom(
  ...([null, null, null, null] as const),
  ...([
    { by: 'host', from: 'own' },
    { by: 'host', from: 'own' },
    { by: 'host', from: 'app' },
    { by: 'zone', from: 'own' },
    { by: 'zone', from: 'app' },
  ] as const),
);

const workload: fc.Arbitrary<Workload> = fc
  .record({
    cpu: fc.constantFrom(0, 100, 500, 900, 1000, 1500, 2000, 3000),
    memory: fc.constantFrom(0, 128, 1024, 2000, 4096, 7000),
    count: fc.integer({ min: 1, max: 5 }),
    app: fc.constantFrom('web', 'db'),
    rule: fc.constantFrom('none', 'none', 'skew', 'skew', 'skew', 'together', 'pinned'),
    skew: fc.constantFrom(1, 1, 2),
    apart,
    ports,
    zone: fc.nat(2),
  })
  .map(({ rule, skew, zone, ...rest }) => ({
    ...rest,
    skew: rule === 'skew' ? skew : null,
    together: rule === 'together',
    zone: rule === 'pinned' ? zone : null,
  }));

type Prices = ReadonlyArray<number | null>;

const price = fc.integer({ min: 5, max: 60 });
/** Mostly the same in all zones, now and then not to be had in some, or dearer. */
const prices: fc.Arbitrary<Prices> = fc.oneof(
  { weight: 3, arbitrary: price.map((one): Prices => [one, one, one]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(price, fc.nat(2))
      .map(([one, without]) => [one, one, one].map((own, at) => (at === without ? null : own))),
  },
  { weight: 1, arbitrary: fc.tuple(price, price, price) },
);

const smallSize: fc.Arbitrary<SmallSize> = fc
  .record({
    cpu: fc.constantFrom(1, 2, 2, 4, 4, 8),
    perCore: fc.constantFrom(1, 2, 4, 8),
    pods: fc.constantFrom(30, 30, 30, 30, 4),
    prices,
  })
  .map(({ cpu, perCore, pods: most, prices: own }) => ({
    cpu: cpu * 1000,
    memory: cpu * perCore * 1024,
    pods: most,
    prices: own,
  }));

const daemon: fc.Arbitrary<Daemon> = fc.record({
  cpu: fc.constantFrom(0, 100, 300),
  memory: fc.constantFrom(0, 256),
  zone: fc.constantFrom(null, null, 0, 2),
  ports: fc.constantFrom([], [], [{ port: 9090, ip: null }]),
});

const smallNode: fc.Arbitrary<SmallNode> = fc.record({
  zone: fc.nat(2),
  cpu: fc.constantFrom(0, 500, 2000),
  memory: fc.constantFrom(0, 4096),
  running: fc.array(fc.nat(2), { maxLength: 2 }),
});

export const MOST_PODS = 8;

export const smallWorlds: fc.Arbitrary<SmallWorld> = fc
  .record({
    sizes: fc.array(smallSize, { minLength: 1, maxLength: 4 }),
    workloads: fc.array(workload, { minLength: 1, maxLength: 4 }),
    daemons: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(daemon, { minLength: 1, maxLength: 2 }) },
    ),
    nodes: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(smallNode, { minLength: 1, maxLength: 2 }) },
    ),
  })
  .map(({ daemons, nodes, ...draw }): SmallWorld => ({
    ...draw,
    // What daemons take of a node that is there is not known before they run.
    daemons: nodes.length > 0 ? [] : daemons,
    nodes: [...nodes].map((one: SmallNode) => ({
      ...one,
      running: one.running.filter((own) => own < draw.workloads.length),
    })),
  }))
  .filter(({ workloads }) => workloads.reduce((sum, { count }) => sum + count, 0) <= MOST_PODS);

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

/** The pod's uid says of which workload it is. */
export function workloadOf(uid: string): number {
  return Number(/^s(\d+)-/.exec(uid)?.[1]);
}

export function sizeName(index: number): string {
  return `Standard_D${index}s_v5`;
}

/** The world as the planner gets it. */
export function inputOf({ sizes, workloads, daemons, nodes }: SmallWorld, operations: number): ProvisioningInput {
  return input({
    types: sizes.map((one, index) =>
      size(sizeName(index), one.cpu / 1000, one.memory / 1024, 0, {
        capacity: { cpu: `${one.cpu}m`, memory: `${one.memory}Mi`, pods: one.pods },
        offerings: one.prices.map((own, zone) => offering(zones[zone] ?? '', 'on-demand', own ?? 1, own !== null)),
      }),
    ),
    nodePools: [pool('pool-0')],
    shapes: workloads.map((one, index) => shape(specOf(one, index), { app: one.app, own: `w${index}` })),
    pods: [
      ...workloads.flatMap(({ count }, index) => pods(index, count)),
      ...nodes.flatMap(({ running }, index) =>
        running.flatMap((own, at) =>
          pods(own, 1, { nodeName: `node-${index}`, name: `r${index}-${at}`, uid: `r${index}-${at}` }),
        ),
      ),
    ],
    nodes: nodes.map(({ zone, cpu, memory, running }, index) => {
      const used = (of: (one: Workload) => number): number =>
        running.reduce((sum, own) => sum + (workloads[own] === undefined ? 0 : of(workloads[own])), 0);
      const allocatable = {
        cpu: `${cpu + used((one) => one.cpu)}m`,
        memory: `${memory + used((one) => one.memory)}Mi`,
        pods: 30,
      };
      const made = node(`node-${index}`, 1, 1, { [ZONE]: zones[zone] ?? '' });
      return { ...made, status: { allocatable, capacity: allocatable } };
    }),
    daemonSets: daemons.map((one, index) =>
      daemonSet(`daemon-${index}`, {
        containers: [containerOf(one)],
        ...(one.zone === null ? {} : { nodeSelector: { [ZONE]: zones[one.zone] ?? '' } }),
      }),
    ),
    operations,
  });
}

function containerOf(one: Pick<Workload, 'cpu' | 'memory' | 'ports'>): PodSpec['containers'][number] {
  return {
    resources: { requests: { cpu: `${one.cpu}m`, memory: `${one.memory}Mi` } },
    ports: one.ports.map(({ port: hostPort, ip }) => ({ hostPort, ...(ip === null ? {} : { hostIP: ip }) })),
  };
}

function specOf(one: Workload, index: number): PodSpec {
  const own = { matchLabels: { own: `w${index}` } };
  const termOf = (by: 'host' | 'zone', labelSelector: typeof own | { matchLabels: { app: string } }) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: by === 'host' ? HOST : ZONE, labelSelector }],
  });
  return {
    containers: [containerOf(one)],
    ...(one.zone === null ? {} : { nodeSelector: { [ZONE]: zones[one.zone] ?? '' } }),
    topologySpreadConstraints:
      one.skew === null
        ? []
        : [{ maxSkew: one.skew, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector: own }],
    affinity: {
      ...(one.together ? { podAffinity: termOf('zone', own) } : {}),
      ...(one.apart === null
        ? {}
        : {
            podAntiAffinity: termOf(one.apart.by, one.apart.from === 'own' ? own : { matchLabels: { app: one.app } }),
          }),
    },
  };
}
