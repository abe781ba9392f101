import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSnapshot } from '../../../shared/contract/snapshot/parse.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { input } from '../../kit/core/build.ts';
import { largeClusterSnapshot, largeClusterTypes } from '../kit/large-cluster-snapshot.ts';

/**
 * From the bytes of a snapshot to a plan, in a process of its own: `node test/bench/planning/from-snapshot.ts [nodes]
 * [running pods a node] [waiting pods] [applications] [mixed]`. Every node is nearly full; a third of the applications
 * spread over zones. `mixed`: pods of any application on each node, so that no two nodes are alike; else of few. Prints
 * the time of unpacking and planning, cold, and the peak of resident memory.
 */
const [nodes = 5_000, each = 30, waiting = 10_000, apps = 60] = process.argv.slice(2, 6).map(Number);
const isMixed = process.argv[6] === 'mixed';

/** The child's part: what a Function does between reading the blob and having the plan. */
function measure(file: string): void {
  const bytes = readFileSync(file);
  const started = performance.now();
  const snapshot = parseSnapshot(bytes);
  const parsed = performance.now();
  const base = input({ types: largeClusterTypes, nodePools: [] });
  const given = { ...base, cluster: snapshot, catalog: new Map([['default', largeClusterTypes]]), work: DEFAULT_WORK };
  const plan = planProvisioning(given, instant(2));
  const planned = performance.now();
  const mebibytes = (kibibytes: number): string => `${(kibibytes / 1_024).toFixed(0)} MiB`;
  process.stdout.write(
    `${snapshot.nodes.length} nodes, ${snapshot.pods.length} pods, ${(bytes.length / 1e6).toFixed(1)} MB: unpacked in ` +
      `${(parsed - started).toFixed(0)} ms, planned in ${(planned - parsed).toFixed(0)} ms; ${plan.claims.length} claims, ` +
      `${plan.nominations.length} nodes nominated, ${plan.left.length} left; peak ${mebibytes(process.resourceUsage().maxRSS)}\n`,
  );
}

const file = process.env['BENCH_SNAPSHOT'];
if (file === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'snapshot-bench-'));
  try {
    const made = join(folder, 'snapshot');
    writeFileSync(made, largeClusterSnapshot({ nodes, each, waiting, apps, isMixed }));
    spawnSync(process.execPath, [import.meta.filename], {
      env: { ...process.env, BENCH_SNAPSHOT: made },
      stdio: 'inherit',
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else measure(file);
