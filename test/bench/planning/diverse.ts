import { toStringMethod } from 'fast-check';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { DEFAULT_WORK, type ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { plainPool, type PoolManifest } from '../../property/shipped/drawn-pools.ts';
import { workload, type WorkloadManifest } from '../../property/shipped/drawn-workloads.ts';
import { readWorld } from '../../property/shipped/read-world.ts';
import { traceRequests, type TraceRequest } from '../../property/shipped/trace-requests.ts';
import { drawingOf } from '../kit/drawing.ts';
import { kinds } from '../kit/workloads-with-rules.ts';

/**
 * What plans cost over their own bound, for pods that are all different and for pods with rules about each other:
 * `node test/bench/planning/diverse.ts KINDS [PODS] [SEEDS] [OPERATIONS]`, lists between commas. Kinds: `trace-all`,
 * `trace-cpu`, `trace-gpu` and `trace-no-gpus` (of the trace in the folder `LAW_TRACES`, else of what is as spread),
 * and those of `workloads-with-rules.ts`. Times are CPU time of this process.
 */
const [wanted = 'trace-no-gpus,apart,few-apart,zones,charts', pods = '30,100', seeds = '1,2,3', operations] =
  process.argv.slice(2);

const requests = traceRequests();

const ofTrace: Readonly<Record<string, (request: TraceRequest) => TraceRequest | null>> = {
  'trace-all': (request) => request,
  'trace-cpu': (request) => (request.gpus === 0 ? request : null),
  'trace-gpu': (request) => (request.gpus === 0 ? null : request),
  'trace-no-gpus': (request) => ({ ...request, gpus: 0 }),
};

/** So many requests, each at most once while there are others. */
function sample(kind: string, count: number, seed: number): ReadonlyArray<WorkloadManifest> {
  const take = ofTrace[kind];
  if (take === undefined) {
    throw new Error(
      `there is no kind ${kind}: there are ${[...Object.keys(ofTrace), ...Object.keys(kinds)].join(', ')}`,
    );
  }
  const own = requests.flatMap((request) => take(request) ?? []);
  const draw = drawingOf(seed);
  const keyed = own.map((request) => ({ request, key: draw() })).toSorted((a, b) => a.key - b.key);
  const many = Array.from({ length: Math.ceil(count / keyed.length) }, () => keyed).flat();
  return many.slice(0, count).map(({ request: { cpuMilli, memoryMib, gpus } }, index) => {
    const limits = gpus === 0 ? {} : { 'nvidia.com/gpu': String(gpus) };
    const resources = { requests: { cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi`, ...limits }, limits };
    return workload(`task-${index}`, 1, { containers: [{ name: 'task', resources }] });
  });
}

function pool(name: string, ...families: ReadonlyArray<string>): PoolManifest {
  const plain = plainPool(name);
  const requirements = [
    ...(plain.spec.template.spec.requirements ?? []),
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: families },
    { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
  ];
  const { template } = plain.spec;
  return { ...plain, spec: { ...plain.spec, template: { ...template, spec: { ...template.spec, requirements } } } };
}

/** Of the sizes that pods without GPUs get. */
const FAMILIES = (process.env['FAMILIES'] ?? 'D,E,F').split(',');

async function inputOf(kind: string, count: number, seed: number): Promise<ProvisioningInput> {
  const draw = kinds[kind];
  const workloads = draw === undefined ? sample(kind, count, seed) : draw(seed, count);
  const { input } = await readWorld({
    region: 'westeurope',
    pools: [pool('cpu', ...FAMILIES), ...(draw === undefined ? [pool('gpu', 'N')] : [])],
    workloads,
    nodes: [],
    daemons: [],
    classSpec: {},
    evictionsPerHour: 0,
    minValuesPolicy: 'Strict',
    [toStringMethod]: () => kind,
  });
  return { ...input, work: operations === undefined ? DEFAULT_WORK : { operations: Number(operations) } };
}

const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;

interface Measured {
  readonly gap: number;
  readonly cpuMs: number;
}

async function measure(kind: string, count: number, seed: number): Promise<Measured> {
  const input = await inputOf(kind, count, seed);
  const before = process.cpuUsage();
  const plan = planProvisioning(input, instant(0));
  const cpuMs = process.cpuUsage(before).user / 1e3;
  const gap = plan.cost / plan.lowerBound - 1;
  const findings = auditPlan(plan, input).filter(({ severity }) => severity === 'fatal').length;
  const figures = [
    `${(plan.cost / 1e6).toFixed(4)} $/h for ${plan.claims.length} nodes, bound ${(plan.lowerBound / 1e6).toFixed(4)}`,
    `over it ${percent(gap)}, ${cpuMs.toFixed(0)} ms`,
    ...(plan.left.length > 0 ? [`${plan.left.length} pods left`] : []),
    ...(findings > 0 ? [`${findings} FINDINGS`] : []),
  ];
  process.stdout.write(`  ${kind} ${count}, seed ${seed}: ${figures.join('; ')}\n`);
  return { gap, cpuMs };
}

const mean = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

for (const kind of wanted.split(',')) {
  for (const count of pods.split(',').map(Number)) {
    const all: Array<Measured> = [];
    // One after the other: each is timed.
    for (const seed of seeds.split(',').map(Number)) all.push(await measure(kind, count, seed));
    const gaps = all.map(({ gap }) => gap);
    const proved = gaps.filter((gap) => gap < 1e-9).length;
    const slowest = Math.max(...all.map(({ cpuMs }) => cpuMs));
    process.stdout.write(
      `${kind.padEnd(14)} ${String(count).padStart(5)} pods: mean ${percent(mean(gaps))} over the bound, worst ${percent(Math.max(...gaps))}, ${proved} of ${gaps.length} proved, at most ${slowest.toFixed(0)} ms\n`,
    );
  }
}
