import { azIn } from './az.ts';
import { hold } from './hold.ts';
import { remove } from './remove.ts';
import { renderRemoval } from './render-removal.ts';
import { runProgram } from './run-program.ts';

/**
 * `npm run removal` says what removes a deployment, and with `-- --yes` does it. Before `azd down` it stops that: azd
 * deletes whole resource groups, and some versions also those in which the deployment only assigned a role, which here
 * is the one with the cluster's own machines.
 */
const environment = { ...ofAzd(), ...process.env };
if (process.argv.includes('--yes')) {
  try {
    remove(environment, { ask: azIn(process.cwd()), say: console.log, now: Date.now, sleep: hold });
    console.log(
      '\nNodewright is removed. Its custom resources stay in the cluster: kubectl delete -f infra/chart/definitions.',
    );
  } catch (error) {
    console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
} else {
  console.error(
    'azd down is stopped: it could delete the resource group of the cluster’s nodes. npm run removal -- --yes removes Nodewright, or typed one by one:\n',
  );
  console.error(renderRemoval(environment).join('\n'));
  process.exitCode = 1;
}

/** The outputs of azd's environment, where azd has not handed them on: a script that is typed by hand gets none. */
function ofAzd(): Readonly<Record<string, string>> {
  if (process.env['AZURE_RESOURCE_GROUP'] !== undefined) return {};
  const { status, stdout } = runProgram('azd', ['env', 'get-values', '--output', 'json'], {
    cwd: process.cwd(),
    shown: false,
  });
  if (status !== 0) return {};
  try {
    return JSON.parse(stdout) as Readonly<Record<string, string>>;
  } catch {
    return {};
  }
}
