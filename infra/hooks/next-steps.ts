import { nextSteps, readDeployed } from './relay-commands.ts';

/** Says what to type once everything stands: after `azd deploy`, and by hand at the end. */
try {
  console.log(nextSteps(readDeployed(process.env)).join('\n'));
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
