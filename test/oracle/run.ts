import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { instant } from '../../shared/core/quantity/units.ts';
import type { Plan } from '../../shared/core/plan/plan.ts';
import { planProvisioning } from '../../shared/core/scheduling/plan-provisioning.ts';
import { toInput, toOraclePlan, type OracleCatalog, type Scenario } from './scenario.ts';

/** The folder that the oracle is in: `NODEWRIGHT_ORACLE`, else beside the repository. */
export const oracleFolder = resolve(
  import.meta.dirname,
  '../..',
  process.env['NODEWRIGHT_ORACLE'] ?? '../shared/oracle',
);

/** The oracle's scenarios and its catalog. */
export function readOracle(): { readonly catalog: OracleCatalog; readonly scenarios: ReadonlyArray<Scenario> } {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(oracleFolder, file), 'utf8'));
  return { catalog: read('catalog.json') as OracleCatalog, scenarios: read('scenarios.json') as Array<Scenario> };
}

/** Plans every scenario. */
export function planAll(): ReadonlyMap<string, Plan> {
  const { catalog, scenarios } = readOracle();
  return new Map(scenarios.map((one) => [one.name, planProvisioning(toInput(one, catalog), instant(0))]));
}

/** What check.py says about the plans; null when there is no Python 3 to run it. */
export function check(plans: ReadonlyMap<string, Plan>): { readonly status: number; readonly text: string } | null {
  const folder = mkdtempSync(join(tmpdir(), 'oracle-'));
  try {
    const file = join(folder, 'plans.json');
    writeFileSync(
      file,
      JSON.stringify(Object.fromEntries([...plans].map(([name, plan]) => [name, toOraclePlan(plan)]))),
    );
    const at = (name: string): string => join(oracleFolder, name);
    const run = spawnSync('python3', [at('check.py'), at('catalog.json'), at('scenarios.json'), file, '--compare'], {
      encoding: 'utf8',
    });
    return run.status === null ? null : { status: run.status, text: `${run.stdout}${run.stderr}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What check.py says about the plans recorded from Karpenter; null when there is no Python 3 to run it. */
export function checkKarpenter(): { readonly text: string } | null {
  const at = (name: string): string => join(oracleFolder, name);
  const run = spawnSync('python3', [at('check.py'), at('catalog.json'), at('scenarios.json'), '--self'], {
    encoding: 'utf8',
  });
  return run.status === null ? null : { text: run.stdout };
}

if (process.argv[1] === import.meta.filename) {
  const answer = check(planAll());
  process.stdout.write(answer?.text ?? 'python3 is needed to run check.py\n');
}
