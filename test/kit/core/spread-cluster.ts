import { drawFrom } from '../../../shared/core/quantity/draw.ts';
import { shape, spec, zones } from './build.ts';
import { CONSOLIDATABLE, disruptable, machine, on, type disruptionInput } from './build-disruption.ts';

type Parts = Parameters<typeof disruptionInput>[0];

/** What is drawn, and from which seed. */
export interface Drawn {
  readonly seed: number;
  readonly nodes: number;
  readonly apps: number;
  readonly maxSkew: number;
  readonly budget: string;
  /** Of the nodes, in turn; 8 unless said. */
  readonly cpus?: ReadonlyArray<2 | 4 | 8>;
  readonly policy?: 'Balanced';
  /** Every so manieth node has drifted. */
  readonly drifted?: number;
}

const DRIFTED = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };

/** Nodes in three zones, each with a few pods of applications that are spread over the zones, drawn from the seed. */
export function spreadCluster({ seed, nodes, apps, maxSkew, budget, cpus = [8], policy, drifted }: Drawn): Parts {
  const draw = drawFrom(seed);
  const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(3, '0')}`);
  const sizes = ['150m', '250m', '300m'];
  const shapes = Array.from({ length: apps }, (_, app) => {
    const labelSelector = { matchLabels: { app: `app-${app}` } };
    const spread = {
      maxSkew,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector,
    };
    const parts = app % 4 > 0 ? { topologySpreadConstraints: [spread] } : {};
    return shape(spec(sizes[app % sizes.length] ?? '', '256Mi', parts), { app: `app-${app}` });
  });
  return {
    machines: names.map((name, index) =>
      machine(name, {
        cpu: cpus[index % cpus.length] ?? 8,
        zone: zones[index % 3] ?? '',
        conditions: drifted !== undefined && index % drifted === 0 ? [CONSOLIDATABLE, DRIFTED] : [CONSOLIDATABLE],
      }),
    ),
    shapes,
    pods: names.flatMap((name, index) =>
      Array.from({ length: (cpus[index % cpus.length] ?? 8) + draw.below(6) }, (_, number) =>
        on(name, draw.below(apps), 1, { name: `${name}-${number}`, uid: `${name}-${number}` }),
      ).flat(),
    ),
    nodePools: [
      disruptable('general', {
        budgets: [{ nodes: budget }],
        ...(policy === undefined ? {} : { consolidationPolicy: policy }),
      }),
    ],
  };
}
