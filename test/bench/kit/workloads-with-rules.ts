import { CHARTS, HOST, ZONE, apart, spread } from '../../property/shipped/charts.ts';
import { workload, type WorkloadManifest } from '../../property/shipped/drawn-workloads.ts';
import type { PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { drawingOf } from './drawing.ts';

/**
 * Workloads whose pods have rules about each other, as installations of well-known charts have, by name of the kind.
 */
export const kinds: Readonly<Record<string, (seed: number, pods: number) => ReadonlyArray<WorkloadManifest>>> = {
  /** Spread over zones, a large one and two small ones kept apart on hosts. */
  apart: (seed, pods) => drawn(seed, pods, { zones: 1, apart: [0.49, 0.04, 0.02] }),
  /** The same with fewer replicas apart. */
  'few-apart': (seed, pods) => drawn(seed, pods, { zones: 1, apart: [0.19, 0.04] }),
  /** Half of them spread over zones, half free. */
  zones: (seed, pods) => drawn(seed, pods, { zones: 0.5, apart: [] }),
  /** Charts as they are installed: databases, ingress, queues, monitoring; sizes of replicas as drawn. */
  charts: (seed, pods) => ofCharts(seed, pods),
  /** The same without what pods only prefer: a plan that heeds that costs more than any bound knows of. */
  'charts-required': (seed, pods) => ofCharts(seed, pods).map((one) => withoutPreferences(one)),
};

interface Rules {
  /** The share of deployments that spread over zones. */
  readonly zones: number;
  /** Shares of the pods that one deployment has whose pods are kept apart on hosts. */
  readonly apart: ReadonlyArray<number>;
}

const DEPLOYMENTS = 20;

function drawn(seed: number, pods: number, rules: Rules): ReadonlyArray<WorkloadManifest> {
  const draw = drawingOf(seed);
  const large = rules.apart.map((share) => Math.max(2, Math.round(share * pods)));
  const rest = pods - large.reduce((sum, count) => sum + count, 0);
  const weights = Array.from({ length: DEPLOYMENTS - large.length }, () => 0.2 + draw());
  const sum = weights.reduce((a, b) => a + b, 0);
  const counts = [...large, ...weights.map((weight) => Math.max(1, Math.round((weight / sum) * rest)))];
  return counts.map((replicas, index) => {
    const cpu = Math.round(100 * 40 ** draw());
    const memory = Math.round(cpu * (1 + 7 * draw()));
    const isSpread = draw() < rules.zones;
    const spec = (selector: object): PodSpec => ({
      containers: [{ name: 'app', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } }],
      ...(isSpread ? { topologySpreadConstraints: [spread(ZONE, true)(selector)] } : {}),
      ...(index < large.length ? { affinity: apart(HOST, true)(selector) } : {}),
    });
    return workload(`app-${index}`, replicas, spec({ matchLabels: { app: `app-${index}` } }));
  });
}

/** Those that need machines of their own kind are another question. */
const LEFT_OUT = /inference|arm$|batch|idle|spark/;

function ofCharts(seed: number, pods: number): ReadonlyArray<WorkloadManifest> {
  const draw = drawingOf(seed);
  const known = CHARTS.filter(({ name }) => !LEFT_OUT.test(name));
  const made: Array<WorkloadManifest> = [];
  for (let count = 0; count < pods;) {
    const chart = known[Math.floor(draw() * known.length)];
    if (chart === undefined) break;
    // Few installations have one replica more than the chart; some are large.
    const most = pods - count;
    const replicas = Math.min(most, Math.max(1, Math.round(chart.replicas * 4 ** (2 * draw() - 0.7))));
    const name = `${chart.name}-${made.length}`;
    made.push(workload(name, replicas, chart.spec({ app: name })));
    count += replicas;
  }
  return made;
}

function withoutPreferences(manifest: WorkloadManifest): WorkloadManifest {
  const { spec } = manifest.spec.template;
  const isRequired = ({ whenUnsatisfiable }: { readonly whenUnsatisfiable: string }): boolean =>
    whenUnsatisfiable === 'DoNotSchedule';
  const apartFrom = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const { affinity: _, ...others } = spec;
  const required: PodSpec = {
    ...others,
    ...(spec.topologySpreadConstraints === undefined
      ? {}
      : { topologySpreadConstraints: spec.topologySpreadConstraints.filter(isRequired) }),
    ...(apartFrom === undefined
      ? {}
      : { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apartFrom } } }),
  };
  return workload(manifest.metadata.name, manifest.spec.replicas, required);
}
