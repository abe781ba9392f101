import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { azIn } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';
import { type Deployed, buildCommand, helmCommand, invokeCommand, nextSteps, readDeployed } from './relay-commands.ts';
import { runProgram } from './run-program.ts';

/** Builds the relay's image and installs the chart: the last step of `azd deploy`. Repeating it changes nothing that is the same. */
const root = resolve(import.meta.dirname, '../..');
try {
  const deployed = readDeployed(process.env);
  const image = deployed.relayImage === '' ? build(deployed) : deployed.relayImage;
  install(deployed, helmCommand(deployed, image));
  console.log(nextSteps(deployed).join('\n'));
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** The name of the image that was built. */
function build(deployed: Deployed): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const shown = azIn(root)(['acr', 'show', '--name', deployed.registryName]);
  if (shown.kind !== 'answer') throw new Error(explainRefusal(`find the registry ${deployed.registryName}`, shown));
  run('az', buildCommand(deployed, version), root);
  return `${(shown.value as { readonly loginServer: string }).loginServer}/nodewright-relay:${version}`;
}

function install(deployed: Deployed, command: ReadonlyArray<string>): void {
  const folder = join(root, 'infra/chart');
  if (process.env['NODEWRIGHT_INSTALL'] === 'helm') {
    const [program = '', ...args] = command;
    run(program, args, folder);
    return;
  }
  const answer = azIn(folder)(invokeCommand(deployed, command));
  if (answer.kind !== 'answer') throw new Error(explainRefusal('install the chart through Azure', answer));
  // az ends well when it could hand the command over; how that ended stands in the answer.
  const { exitCode, logs } = answer.value as { readonly exitCode: number; readonly logs: string };
  console.log(logs);
  if (exitCode !== 0) throw new Error(`helm ended with ${exitCode} in the cluster: its words are above`);
}

function run(program: string, args: ReadonlyArray<string>, cwd: string): void {
  console.log(`▸ ${program} ${args.join(' ')}`);
  const { status, error } = runProgram(program, args, { cwd, shown: true });
  if (error !== undefined)
    throw new Error(`${program} cannot be run: install it, or put it on the PATH`, { cause: error });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 2).join(' ')} ended with ${status}: its words are above`);
}
