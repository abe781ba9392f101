import { gatherAnswers, readWishes } from './answers.ts';
import { azIn } from './az.ts';
import { fillIn, judge } from './checks.ts';
import { renderFindings } from './render-findings.ts';
import { runProgram } from './run-program.ts';

/**
 * Looks before anything is deployed whether it can be: `azd provision` runs it first, and `npm run preflight` by hand. Reads
 * only, but for variables of azd's environment that it can fill in. Ends with 1 when something has to be mended.
 */
const wishes = readWishes(process.env);
try {
  const answers = gatherAnswers(azIn(process.cwd()), wishes);
  const findings = judge(answers);
  console.log(renderFindings(findings, wishes.clusterId).join('\n'));
  const failed = findings.filter(({ verdict }) => verdict === 'failed').length;
  if (failed > 0) {
    console.error(`\n${failed} of ${findings.length} checks failed. Nothing was deployed.`);
    process.exitCode = 1;
  } else {
    for (const [name, value] of Object.entries(fillIn(answers))) tell(name, value);
  }
} catch (error) {
  console.error(`✗ ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** Into azd's environment where azd has one, and for everybody to see. */
function tell(name: string, value: string): void {
  console.log(`  ${name}=${value}`);
  if (wishes.environment === '') return;
  const args = ['env', 'set', name, value, '--environment', wishes.environment];
  const { status } = runProgram('azd', args, { cwd: process.cwd(), shown: true });
  if (status === 0) return;
  console.error(`✗ ${name} could not be written: run azd ${args.slice(0, 4).join(' ')}`);
  process.exitCode = 1;
}
