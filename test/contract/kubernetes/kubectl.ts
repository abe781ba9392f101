import { execFile } from 'node:child_process';

/** What a kubectl command printed, and how it ended. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs kubectl on one cluster. */
export type Kubectl = (
  args: ReadonlyArray<string>,
  input?: string,
  env?: Readonly<Record<string, string>>,
) => Promise<Ran>;

/** Longest that a command of these suites may take; a hanging wait or watch is a failure. */
const COMMAND_MS = 40_000;

/** A runner of the kubectl binary in `assets`, with its cache beside the kubeconfig. */
export function kubectlOf(binary: string, kubeconfigPath: string): Kubectl {
  return (args, input = '', env = {}) =>
    new Promise((resolve) => {
      const flags = ['--kubeconfig', kubeconfigPath, '--cache-dir', `${kubeconfigPath}.cache`];
      const options = { timeout: COMMAND_MS, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 };
      const child = execFile(binary, [...flags, ...args], options, (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, out, err });
      });
      child.stdin?.end(input);
    });
}
