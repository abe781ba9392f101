import { deploy } from './deploy.ts';
import type { DeployOptions } from './deploy-options.ts';
import { type Machine, thisMachine } from './machine.ts';
import { status } from './status.ts';
import { Stopped } from './stopped.ts';
import { uninstall } from './uninstall.ts';

const COMMANDS = { deploy, upgrade: deploy, status, uninstall } as const;

/**
 * Runs `deploy`, `upgrade`, `status` or `uninstall`, and returns the exit code that its help documents. `tell` hears
 * what stopped it.
 */
export async function runDeploy(
  options: DeployOptions,
  tell: (line: string) => void,
  machine: Machine = thisMachine({ tellsInterrupt: options.kind === 'deploy' || options.kind === 'upgrade' }),
): Promise<number> {
  try {
    await COMMANDS[options.kind](options, machine);
    return 0;
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    tell(`✗ ${error.message}`);
    return error.exitCode;
  }
}
