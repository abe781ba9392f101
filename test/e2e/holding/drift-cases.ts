import { rngFrom, type Rng } from '../../../sandbox/base/rng.ts';
import type { Taint } from '../../../shared/kubernetes/manifest.ts';

/** Pods of one owner that are alike. */
export interface App {
  readonly name: string;
  readonly replicas: number;
  /** Millicores, and MiB. */
  readonly cpu: number;
  readonly memory: number;
  /** What their spec says beside what they request. */
  readonly rules: object;
}

/** A cluster whose nodes drift. The scheduler has put the pods where they are. */
export interface DriftCase {
  readonly name: string;
  readonly nodes: ReadonlyArray<{ readonly size: string; readonly zone: string }>;
  readonly apps: ReadonlyArray<App>;
  /** Of the NodePool's template. */
  readonly taints?: ReadonlyArray<Taint>;
  /** How many of the nodes drift, the first ones; absent: all. */
  readonly drifting?: number;
  /** Are they to be replaced by no more than there were? */
  readonly oneForOne: boolean;
}

const ZONES = ['westeurope-1', 'westeurope-2', 'westeurope-3'] as const;
const [first, second] = ZONES;

function spreadOver(topologyKey: string, app: string): object {
  const labelSelector = { matchLabels: { app } };
  return {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
  };
}

const overHosts = (app: string): object => spreadOver('kubernetes.io/hostname', app);
const overZones = (app: string): object => spreadOver('topology.kubernetes.io/zone', app);

function apart(app: string): object {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

const D4 = 'Standard_D4s_v5';
const small = { cpu: 500, memory: 256 };

/**
 * Shapes that did not drift one for one before: soft taints, spreads over hosts, a zone that rules about other pods
 * leave.
 */
const known: ReadonlyArray<DriftCase> = [
  {
    name: 'a pod without a toleration of the soft taint of its NodePool',
    nodes: [{ size: D4, zone: first }],
    apps: [{ name: 'a', replicas: 1, ...small, rules: {} }],
    taints: [{ key: 'example.com/t', effect: 'PreferNoSchedule' }],
    oneForOne: true,
  },
  {
    name: 'three pods that spread over hosts, on one',
    nodes: [{ size: D4, zone: first }],
    apps: [{ name: 'a', replicas: 3, ...small, rules: overHosts('a') }],
    oneForOne: true,
  },
  {
    name: 'four pods that spread over hosts, on two',
    nodes: [
      { size: D4, zone: first },
      { size: D4, zone: second },
    ],
    apps: [{ name: 'a', replicas: 4, ...small, rules: overHosts('a') }],
    oneForOne: true,
  },
  {
    name: 'two pods that spread over zones, in one, of which one drifts',
    nodes: [
      { size: D4, zone: first },
      { size: D4, zone: first },
    ],
    apps: [{ name: 'a', replicas: 2, cpu: 2_500, memory: 1_024, rules: overZones('a') }],
    drifting: 1,
    oneForOne: true,
  },
];

type Kind = 'web' | 'cpu' | 'memory' | 'mixed' | 'spread' | 'hosts';

/** What pods of a kind request, millicores and MiB, as the workloads of the benches have it. */
const REQUESTS: Readonly<Record<Kind, ReadonlyArray<readonly [cpu: number, memory: number]>>> = {
  web: [
    [100, 128],
    [250, 64],
    [250, 512],
    [500, 256],
    [500, 1_024],
    [100, 1_024],
  ],
  cpu: [
    [1_000, 512],
    [2_000, 1_024],
    [4_000, 2_048],
    [1_000, 2_048],
  ],
  memory: [
    [1_000, 4_096],
    [500, 8_192],
    [250, 16_384],
    [500, 4_096],
  ],
  mixed: [
    [2_000, 4_096],
    [250, 16_384],
    [100, 256],
    [1_000, 8_192],
    [4_000, 2_048],
    [500, 2_048],
  ],
  spread: [
    [1_000, 1_024],
    [250, 1_024],
    [2_000, 4_096],
    [500, 4_096],
  ],
  hosts: [
    [200, 256],
    [500, 512],
    [250, 1_024],
  ],
};

const KINDS: ReadonlyArray<Kind> = ['web', 'cpu', 'memory', 'mixed', 'spread', 'hosts'];

/** So many are drawn beside those that are known. */
const DRAWN = 24;

/** The cases that are played: the known ones, and drawn ones, each fixed by its seed, which is its name. */
export const driftCases: ReadonlyArray<DriftCase> = [
  ...known,
  ...Array.from({ length: DRAWN }, (_, index) => draw(`drifts-${index + 1}`, KINDS[index % KINDS.length] ?? 'web')),
];

function draw(seed: string, kind: Kind): DriftCase {
  const rng = rngFrom(seed);
  const nodes = Array.from({ length: 2 + rng.below(3) }, () => ({
    size: pick(rng, [D4, 'Standard_D8s_v5', 'Standard_E8s_v5']),
    zone: pick(rng, ZONES),
  }));
  const apps = Array.from({ length: 2 + rng.below(3) }, (_, index): App => {
    const name = `${kind}-${index}`;
    const [cpu, memory] = pick(rng, REQUESTS[kind]);
    return { name, replicas: 1 + rng.below(4), cpu, memory, rules: rulesOf(rng, kind, name) };
  });
  return { name: `SEED=${seed} ${kind}`, nodes, apps, oneForOne: false };
}

function rulesOf(rng: Rng, kind: Kind, app: string): object {
  if (kind === 'hosts') return rng.chance(70) ? overHosts(app) : {};
  if (kind !== 'spread') return {};
  return rng.chance(25) ? apart(app) : overZones(app);
}

function pick<T>(rng: Rng, values: ReadonlyArray<T>): T {
  const value = values[rng.below(values.length)];
  if (value === undefined) throw new Error('nothing to draw from');
  return value;
}
