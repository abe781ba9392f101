import { findTools } from './tools.ts';

/** The tools of this machine, and the title of a suite that needs them. */
export const tools = findTools();

/** Says plainly what was not done where they are absent. */
export function titleOf(what: string): string {
  return tools === null
    ? `${what} (did nothing: no az on the PATH or in AZURE_CLI_FOLDER, or no ../shared/azure-tools, or no openssl)`
    : what;
}
