import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toDecision } from '../../../shared/app/commit/commit-plan.ts';
import { gather } from '../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { recordPlan } from '../../../shared/app/commit/record-plan.ts';
import { toNodeClaim } from '../../../shared/app/claims/to-node-claim.ts';
import { createSnapshotBuilder } from '../../../shared/contract/snapshot/builder.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { benchmarkInput, diversePods } from '../kit/five-way-mix.ts';
import {
  largeClusterPool,
  largeClusterSnapshot,
  largeClusterTypes,
  readyClass,
  uidOf,
  waitingStatus,
} from '../kit/large-cluster-snapshot.ts';
import { portsInMemory } from '../kit/ports-in-memory.ts';

/**
 * What a decision takes, stage by stage, from the bytes of a snapshot to the bodies of its claims:
 * `node test/bench/planning/decision.ts [diverse pods, and these alone]`. Ports are in memory, all else is what the
 * functions run. Prints for each load and stage the time in a process that has just begun, and the fastest of several
 * in one that is warm; and beside their sum what `provision` takes as a whole. Sizes and prices come ready-made:
 * reading them is a port's work.
 */
interface Load {
  readonly name: string;
  readonly snapshot: () => Uint8Array;
  readonly types: ReadonlyArray<InstanceType>;
  readonly pool: NodePool;
}

/** Null: all loads. */
const given = /^\d+$/.test(process.argv[2] ?? '') ? Number(process.argv[2]) : null;
const DIVERSE = given ?? 10_000;
const LARGE = { nodes: 5_000, each: 30, waiting: 10_000, apps: 60, isMixed: true };
const WARM_RUNS = 5;

const fiveWay = benchmarkInput([], 'Respect');

/** The mix's pool, with a class of ours: those of others are not planned for. */
const fiveWayPool: NodePool = {
  ...largeClusterPool,
  spec: { ...fiveWay.cluster.nodePools[0]?.spec, template: largeClusterPool.spec.template },
};

const LOADS: ReadonlyArray<Load> = [
  {
    name: `${DIVERSE} diverse pods`,
    snapshot: diverseSnapshot,
    types: fiveWay.catalog.get('default') ?? [],
    pool: fiveWayPool,
  },
  {
    name: `${LARGE.waiting} pods beside ${LARGE.nodes} nodes with ${LARGE.nodes * LARGE.each} pods`,
    snapshot: () => largeClusterSnapshot(LARGE),
    types: largeClusterTypes,
    pool: largeClusterPool,
  },
];

function diverseSnapshot(): Uint8Array {
  const builder = createSnapshotBuilder('bench');
  diversePods(DIVERSE).forEach(({ namespace, labels, spec }, index) => {
    const creationTimestamp = '2026-11-01T00:00:00Z';
    const metadata = { name: `pod-${index}`, namespace, uid: uidOf(1, index), creationTimestamp, labels };
    builder.upsert('pods', { metadata, spec, status: waitingStatus });
  });
  builder.upsert('nodepools', fiveWayPool);
  builder.upsert('aksnodeclasses', readyClass);
  return builder.encode({ version: 'bench', takenAtMs: 1, source: 'relay' });
}

/** Milliseconds by stage, in the order of the stages. */
type Times = ReadonlyMap<string, number>;

const UNPACK = 'unpack';
const GATHER = 'gather';
const PLAN = 'plan';
const AUDIT = 'audit';
const NAME = 'stamp and name';
const STORE = 'store the record';
const CLAIMS = 'bodies of claims';
const FIGURES = 'figures';
const WHOLE = 'provision, as it runs';

/** One decision in stages. The snapshot is unpacked before it is gathered, and gathering finds it unpacked. */
async function inStages(ports: Ports, { pool }: Load): Promise<Times> {
  const times = new Map<string, number>();
  const timed = async <T>(stage: string, work: () => T | Promise<T>): Promise<T> => {
    const started = performance.now();
    const value = await work();
    times.set(stage, performance.now() - started);
    return value;
  };
  await timed(UNPACK, () => ports.snapshots.latest());
  const ledger = await ports.ledger.read();
  const gathered = await timed(GATHER, () => gather(ports, ledger, false));
  if (gathered === null) throw new Error('there is no snapshot');
  const { input } = gathered;
  const plan = await timed(PLAN, () => ports.planner(input, instant(ports.now())));
  const findings = await timed(AUDIT, () => auditPlan(plan, input));
  if (findings.length > 0) throw new Error(`the audit has ${findings.length} findings`);
  const decision = await timed(NAME, () => toDecision(ports, gathered, plan, 'bench'));
  await timed(STORE, () => ports.decisions.put(decision));
  await timed(CLAIMS, () =>
    decision.plan.claims.map((planned, index) =>
      JSON.stringify(
        toNodeClaim(decision.name, planned, {
          name: decision.claimNames[index] ?? '',
          currency: 'USD',
          pool,
          nodeClass: null,
          types: [],
        }),
      ),
    ),
  );
  await timed(FIGURES, () => recordPlan(ports, { gathered, input, plan, madeAtMs: ports.now(), tookMs: 0 }, 'holds'));
  return times;
}

/** One decision as a function makes it. */
async function whole(ports: Ports): Promise<Times> {
  const started = performance.now();
  const outcome = await provision(ports);
  if (outcome.kind !== 'provisioned') throw new Error(`nothing was provisioned: ${outcome.kind}`);
  return new Map([[WHOLE, performance.now() - started]]);
}

/** The child's part: the first run, and the fastest of those after it, as JSON. */
async function measure(file: string, load: Load, isWhole: boolean): Promise<void> {
  const bytes = readFileSync(file);
  const runs: Array<Times> = [];
  for (let run = 0; run <= WARM_RUNS; run++) {
    const ports = portsInMemory(bytes, load.types, load.pool);
    // One after the other: they are to be timed.
    runs.push(await (isWhole ? whole(ports) : inStages(ports, load)));
  }
  const [cold, ...warm] = runs;
  const rows = [...(cold ?? [])].map(([stage, first]) => {
    return [stage, first, Math.min(...warm.map((times) => times.get(stage) ?? Infinity))];
  });
  process.stdout.write(JSON.stringify(rows));
}

type Row = readonly [stage: string, cold: number, warm: number];

function inProcess(file: string, load: number, isWhole: boolean): ReadonlyArray<Row> {
  const args = [import.meta.filename, file, String(load), ...(isWhole ? ['whole'] : [])];
  const { stdout } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
  return JSON.parse(stdout) as ReadonlyArray<Row>;
}

function sum(name: string, rows: ReadonlyArray<Row>): Row {
  return [name, rows.reduce((total, [, cold]) => total + cold, 0), rows.reduce((total, [, , warm]) => total + warm, 0)];
}

function print(name: string, rows: ReadonlyArray<Row>): void {
  const column = (text: string): string => text.padStart(9);
  const lines = rows.map(
    ([stage, cold, warm]) => `  ${stage.padEnd(32)}${column(cold.toFixed(0))}${column(warm.toFixed(0))}`,
  );
  process.stdout.write(`${name}\n${''.padEnd(34)}${column('cold ms')}${column('warm ms')}\n`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function compare(load: Load, index: number, folder: string): void {
  const file = join(folder, String(index));
  const bytes = load.snapshot();
  writeFileSync(file, bytes);
  const stages = inProcess(file, index, false);
  const audited = stages.slice(0, stages.findIndex(([stage]) => stage === AUDIT) + 1);
  print(`${load.name}, ${(bytes.length / 1e6).toFixed(2)} MB`, [
    ...stages,
    sum('to the audited plan', audited),
    sum('in all', stages),
    ...inProcess(file, index, true),
  ]);
}

const [file, index = '0', mode] = process.argv.slice(2);
const chosen = LOADS[Number(index)];
if (given === null && file !== undefined && chosen !== undefined) await measure(file, chosen, mode === 'whole');
else {
  const folder = mkdtempSync(join(tmpdir(), 'decision-bench-'));
  try {
    LOADS.slice(0, given === null ? LOADS.length : 1).forEach((load, at) => compare(load, at, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
