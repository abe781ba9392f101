import { spawnSync } from 'node:child_process';

/** What az answered: the JSON it printed, or why it did not. `message` is what it wrote to stderr. */
export type AzAnswer =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'missing' };

/** Asks the Azure CLI. */
export type Ask = (args: ReadonlyArray<string>) => AzAnswer;

/** Lists of VM sizes and usages are some hundred KiB. */
const OUTPUT_MAX_BYTES = 64 * 2 ** 20;

/** Runs az and reads what it prints. Nothing is changed by the reading commands that are asked here. */
export const askAz: Ask = (args) => {
  const { status, stdout, stderr, error } = spawnSync('az', [...args, '--only-show-errors', '--output', 'json'], {
    encoding: 'utf8',
    maxBuffer: OUTPUT_MAX_BYTES,
    // On Windows az is a script, which only a shell runs.
    shell: process.platform === 'win32',
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
  if (status !== 0) return { kind: 'refused', message: stderr ?? '' };
  return parse(stdout);
};

function parse(text: string): AzAnswer {
  try {
    return { kind: 'answer', value: text.trim() === '' ? null : JSON.parse(text) };
  } catch {
    return { kind: 'refused', message: `az answered with something that is no JSON: ${text.slice(0, 200)}` };
  }
}

/** Reads one resource, or one list, of Azure Resource Manager. */
export function readArm(path: string, apiVersion: string): ReadonlyArray<string> {
  return ['rest', '--method', 'get', '--url', `${path}?api-version=${apiVersion}`];
}
