import { runProgram } from './run-program.ts';

/** What az answered: the JSON it printed, or why it did not. `message` is what it wrote to stderr. */
export type AzAnswer =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'missing' };

/** Asks the Azure CLI. */
export type Ask = (args: ReadonlyArray<string>) => AzAnswer;

/**
 * An az that works in a folder and answers in JSON; one that takes longer than `withinMs` is ended, and has refused.
 */
export function azIn(cwd: string, withinMs?: number): Ask {
  return (args) => {
    const words = [...args, '--only-show-errors', '--output', 'json'];
    const { status, signal, stdout, stderr, error } = runProgram('az', words, {
      cwd,
      shown: false,
      ...(withinMs === undefined ? {} : { withinMs }),
    });
    if (error !== undefined && 'code' in error && error.code === 'ENOENT') return { kind: 'missing' };
    if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT') {
      return { kind: 'refused', message: `az ${args.slice(0, 3).join(' ')} did not end in time, and was ended` };
    }
    if (status === 0) return parse(stdout);
    // One that is interrupted says nothing.
    const ended = signal === null ? `ended with ${status}` : `was ended by ${signal}`;
    return {
      kind: 'refused',
      message: (stderr ?? '').trim() === '' ? `az ${args.slice(0, 3).join(' ')} ${ended}` : stderr,
    };
  };
}

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
