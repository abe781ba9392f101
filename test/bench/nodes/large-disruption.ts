import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disruptionInput } from '../../../shared/app/disrupt/disruption-input.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { gather } from '../../../shared/app/gather/gather.ts';
import { applyEnds } from '../../../shared/core/disruption/apply-ends.ts';
import { auditDisruption } from '../../../shared/core/disruption/audit/audit-disruption.ts';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionPlan } from '../../../shared/core/disruption/plan/disruption-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { portsInMemory } from '../kit/ports-in-memory.ts';
import {
  scaledDownPool,
  scaledDownSnapshot,
  scaledDownTypes,
  type ScaledDown,
} from '../disruption/scaled-down-snapshot.ts';

/**
 * What a look of the function `disrupt` takes at large clusters, from the bytes of a snapshot, in a process of its own:
 * `node test/bench/nodes/large-disruption.ts [part of a load's name, or nodes]`. `disrupt` is the use case itself over
 * ports in memory: gathering, both planners, audits, commit. Beside it stand its stages, the audit of the first step,
 * which is what a look begins, that of the whole plan, for which only the command line asks, and the same cluster at
 * rest: once everything that was planned has been done.
 */
const LOADS: ReadonlyArray<readonly [name: string, cluster: ScaledDown]> = [
  ['1,000 nodes at 30 %', { nodes: 1_000, pods: 30_000, use: 0.3, apps: 300, seed: 1 }],
  ['5,000 nodes at 45 %', { nodes: 5_000, pods: 150_000, use: 0.45, apps: 1_000, seed: 2 }],
  ['5,000 nodes at 85 %', { nodes: 5_000, pods: 150_000, use: 0.85, apps: 1_000, seed: 3 }],
];

const MEBIBYTE_KIB = 1_024;

type Row = readonly [what: string, value: string];

function peak(): Row {
  return ['peak of resident memory', `${(process.resourceUsage().maxRSS / MEBIBYTE_KIB).toFixed(0)} MiB`];
}

/** What has passed since, by the clock and on processors: of a busy machine the second says more. */
function startWatch(): () => string {
  const [started, before] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return `${(performance.now() - started).toFixed(0)} ms (CPU ${((user + system) / 1e3).toFixed(0)} ms)`;
  };
}

function told(plan: DisruptionPlan): string {
  const moves = plan.steps.reduce((sum, { moves: own }) => sum + own.length, 0);
  const [before, after] = [plan.before, plan.after].map(
    ({ nodes, cost }) => `${nodes} nodes, ${(cost / 1e6).toFixed(3)} $/h`,
  );
  return `${before} → ${after}; ${plan.steps.length} steps, ${moves} pods move; bound ${(plan.lowerBound / 1e6).toFixed(3)}`;
}

/** The child's part: one look, as the function has it. */
async function look(bytes: Uint8Array): Promise<ReadonlyArray<Row>> {
  const ports = portsInMemory(bytes, scaledDownTypes, scaledDownPool);
  const watch = startWatch();
  const outcome = await disrupt(ports);
  return [['disrupt, as it runs', `${watch()}, ${JSON.stringify(outcome)}`], peak()];
}

/** The child's part: stage by stage. */
async function stages(bytes: Uint8Array): Promise<ReadonlyArray<Row>> {
  const rows: Array<Row> = [];
  const timed = async <T>(stage: string, work: () => T | Promise<T>): Promise<T> => {
    const watch = startWatch();
    const value = await work();
    rows.push([stage, watch()]);
    return value;
  };
  const ports = portsInMemory(bytes, scaledDownTypes, scaledDownPool);
  const ledger = await ports.ledger.read();
  const gathered = await timed('gather', () => gather(ports, ledger, false));
  if (gathered === null) throw new Error('there is no snapshot');
  const now = instant(ports.now());
  const input = disruptionInput(ports, gathered.input, new Map());
  const plan = await timed('plan', () => planDisruption(input, now));
  await timed('audit of the first step', () => auditDisruption(plan, input, now, 1));
  const findings = await timed('audit of the whole plan', () => auditDisruption(plan, input, now));
  // A cluster whose nodes are nobody's is planned in no time, and says nothing of the time that a plan takes.
  if (plan.steps.length === 0) throw new Error('the plan removes nothing: the nodes of the input are not ours');
  if (findings.length > 0) throw new Error(`the audit has ${findings.length} findings: ${findings[0]?.text ?? ''}`);
  rows.push(['comes to', told(plan)], peak());
  const rested = { ...input, provisioning: applyEnds(input.provisioning, endsOf(plan)) };
  const again = await timed('plan at rest', () => planDisruption(rested, now));
  rows.push(['at rest', told(again)]);
  return rows;
}

function endsOf({ steps, replacements }: DisruptionPlan): Parameters<typeof applyEnds>[1] {
  return {
    gone: new Set(steps.flatMap(({ remove }) => remove)),
    created: new Map(replacements.map((one) => [one.name, one])),
    homes: new Map(steps.flatMap(({ moves }) => moves.map(({ uid, to }) => [uid, to.name] as const))),
  };
}

/** A number is a cluster of so many nodes, other text a part of a load's name. */
function loadsNamed(text: string): typeof LOADS {
  const nodes = Number(text);
  if (text === '' || !Number.isInteger(nodes)) return LOADS.filter(([name]) => name.includes(text));
  return [[`${text} nodes at 30 %`, { nodes, pods: nodes * 30, use: 0.3, apps: Math.ceil(nodes / 3), seed: 1 }]];
}

const MODES = { look, stages };

function inProcess(file: string, mode: keyof typeof MODES): void {
  const { stdout } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, file, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  process.stdout.write(stdout);
}

function print(rows: ReadonlyArray<Row>): void {
  process.stdout.write(rows.map(([what, value]) => `  ${what.padEnd(28)}${value}\n`).join(''));
}

const [first = '', mode] = process.argv.slice(2);
if (mode === 'look' || mode === 'stages') print(await MODES[mode](readFileSync(first)));
else {
  const folder = mkdtempSync(join(tmpdir(), 'large-disruption-'));
  try {
    for (const [name, cluster] of loadsNamed(first)) {
      const file = join(folder, 'snapshot');
      const bytes = scaledDownSnapshot(cluster);
      writeFileSync(file, bytes);
      process.stdout.write(`${name}, ${cluster.pods} pods, ${(bytes.length / 1e6).toFixed(2)} MB\n`);
      inProcess(file, 'look');
      inProcess(file, 'stages');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
