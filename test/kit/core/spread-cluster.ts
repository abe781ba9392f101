import { drawFrom } from '../../../shared/core/quantity/draw.ts';
import { shape, spec, zones } from './build.ts';
import { disruptable, machine, on, type disruptionInput } from './build-disruption.ts';

type Parts = Parameters<typeof disruptionInput>[0];

interface Drawn {
  readonly seed: number;
  readonly nodes: number;
  readonly apps: number;
  readonly maxSkew: number;
  readonly budget: string;
}

/**
 * Nodes of 8 CPU in three zones, each with a few pods of applications that are spread over the zones, drawn from the
 * seed.
 */
export function spreadCluster({ seed, nodes, apps, maxSkew, budget }: Drawn): Parts {
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
    machines: names.map((name, index) => machine(name, { cpu: 8, zone: zones[index % 3] ?? '' })),
    shapes,
    pods: names.flatMap((name) =>
      Array.from({ length: 8 + draw.below(6) }, (_, number) =>
        on(name, draw.below(apps), 1, { name: `${name}-${number}`, uid: `${name}-${number}` }),
      ).flat(),
    ),
    nodePools: [disruptable('general', { budgets: [{ nodes: budget }] })],
  };
}
