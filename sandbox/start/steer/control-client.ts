import type { ControlRequest } from './control-server.ts';
import { RefusedError } from './actions.ts';
import { findSession } from './session.ts';

/** A local server that answers at all answers within this. */
const ANSWER_MS = 15_000;

/** Asks the sandbox that runs; answers its sentence. Throws RefusedError when none runs, or when it cannot do that. */
export async function askSandbox(request: ControlRequest): Promise<string> {
  const session = findSession();
  if (session === null) throw new RefusedError('No sandbox is running: start one with npm start, in another terminal.');
  const response = await fetch(session.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const { message } = (await response.json()) as { readonly message: string };
  if (!response.ok) throw new RefusedError(message);
  return message;
}
