import {
  parseCommand,
  type ConvertOptions,
  type DisruptOptions,
  type LaunchOptions,
  type PlanOptions,
} from './command.ts';
import type { DeployOptions } from './deploy/deploy-options.ts';
import type { PlanOutcome } from './plan/plan-from-files.ts';
import { harmless, harmlessLines } from '../shared/contract/harmless.ts';
import { readVersion } from './home.ts';
import { renderInputProblem, WrongInputError } from './wrong-input.ts';

/** Exit codes that `nodewright plan --help` documents. */
const WRONG_INPUT = 2;
const INTERNAL_ERROR = 3;

/** At most so many problems are printed: whoever has more has one cause for them. */
const PROBLEMS_SHOWN = 50;

/** Runs one command line and returns its exit code. Never throws. */
export async function main(args: ReadonlyArray<string>): Promise<number> {
  // A reader that has seen enough, such as head, is no error.
  process.stdout.on('error', () => {});
  try {
    return await run(args);
  } catch (error) {
    if (error instanceof WrongInputError) return tellProblems(error);
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`nodewright: internal error: ${harmlessLines(text)}\n`);
    return INTERNAL_ERROR;
  }
}

async function run(args: ReadonlyArray<string>): Promise<number> {
  const command = parseCommand(args);
  if (command.kind === 'plan') return plan(command);
  if (command.kind === 'disrupt') return disrupt(command);
  if (command.kind === 'launch') return launch(command);
  if (command.kind === 'convert') return convert(command);
  if (command.kind !== 'help' && command.kind !== 'version') return deploy(command);
  process.stdout.write(command.kind === 'help' ? command.text : `nodewright ${readVersion()}\n`);
  return 0;
}

async function plan(options: PlanOptions): Promise<number> {
  // Loaded only now, so that help is there at once.
  const { planFromFiles } = await import('./plan/plan-from-files.ts');
  return tell(await planFromFiles(options, process.stdin));
}

async function disrupt(options: DisruptOptions): Promise<number> {
  const { disruptFromFiles } = await import('./disrupt/disrupt-from-files.ts');
  return tell(await disruptFromFiles(options, process.stdin));
}

async function launch(options: LaunchOptions): Promise<number> {
  const { launchFromFiles } = await import('./launch/launch-from-files.ts');
  return tell(await launchFromFiles(options, process.stdin));
}

async function convert(options: ConvertOptions): Promise<number> {
  const { convertFromFiles } = await import('./convert/convert-from-files.ts');
  return tell(await convertFromFiles(options, process.stdin));
}

async function deploy(options: DeployOptions): Promise<number> {
  const { runDeploy } = await import('./deploy/run-deploy.ts');
  return runDeploy(options, (line) => process.stderr.write(`${harmlessLines(line)}\n`));
}

function tell({ text, notes, errors, exitCode }: PlanOutcome): number {
  for (const note of notes) process.stderr.write(`note: ${harmless(note)}\n`);
  for (const error of errors) process.stderr.write(`nodewright: ${harmless(error)}\n`);
  process.stdout.write(text);
  return exitCode;
}

function tellProblems({ problems }: WrongInputError): number {
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) {
    process.stderr.write(`nodewright: ${harmless(renderInputProblem(problem))}\n`);
  }
  const more = problems.length - PROBLEMS_SHOWN;
  if (more > 0) process.stderr.write(`nodewright: and ${more} more\n`);
  return WRONG_INPUT;
}
