import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { instant } from '../../shared/core/quantity/units.ts';
import type { Plan } from '../../shared/core/model/plan.ts';
import { planProvisioning } from '../../shared/core/plan-provisioning.ts';
import { toInput, toOraclePlan, type OracleCatalog, type Scenario } from './scenario.ts';

/**
 * Enough to look for places for pods that are left; a lower price, which packing looks for with the rest, no rule asks
 * about.
 */
const STEPS = 6_000_000;

/** The oracle's scenarios and its catalog. */
export function readOracle(): { readonly catalog: OracleCatalog; readonly scenarios: ReadonlyArray<Scenario> } {
  return {
    catalog: JSON.parse(unpacked('catalog.json')) as OracleCatalog,
    scenarios: JSON.parse(unpacked('scenarios.json')) as Array<Scenario>,
  };
}

function unpacked(file: string): string {
  return gunzipSync(readFileSync(join(import.meta.dirname, 'data', `${file}.gz`))).toString('utf8');
}

/** Plans every scenario. */
export function planAll(): ReadonlyMap<string, Plan> {
  const { catalog, scenarios } = readOracle();
  return new Map(
    scenarios.map((one) => [
      one.name,
      planProvisioning({ ...toInput(one, catalog), work: { operations: STEPS } }, instant(0)),
    ]),
  );
}

/** What check.py says about the plans; null when there is no Python 3 to run it. */
export function check(plans: ReadonlyMap<string, Plan>): { readonly status: number; readonly text: string } | null {
  const written = Object.fromEntries([...plans].map(([name, plan]) => [name, toOraclePlan(plan)]));
  return runChecker((folder) => {
    writeFileSync(join(folder, 'plans.json'), JSON.stringify(written));
    return [join(folder, 'plans.json'), '--compare'];
  });
}

/** What check.py says about the plans recorded from Karpenter; null when there is no Python 3 to run it. */
export function checkKarpenter(): { readonly text: string } | null {
  return runChecker(() => ['--self']);
}

function runChecker(
  argumentsFor: (folder: string) => ReadonlyArray<string>,
): { readonly status: number; readonly text: string } | null {
  const folder = mkdtempSync(join(tmpdir(), 'oracle-'));
  try {
    const files = ['catalog.json', 'scenarios.json'].map((name) => {
      writeFileSync(join(folder, name), unpacked(name));
      return join(folder, name);
    });
    const script = join(import.meta.dirname, 'check.py');
    const run = spawnSync('python3', [script, ...files, ...argumentsFor(folder)], { encoding: 'utf8' });
    return run.status === null ? null : { status: run.status, text: `${run.stdout}${run.stderr}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const answer = check(planAll());
  process.stdout.write(answer?.text ?? 'python3 is needed to run check.py\n');
}
