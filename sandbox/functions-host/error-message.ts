/** A thrown value as a message: an error's message, anything else as text. */
export function renderErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A thrown value with its stack where it has one, and its causes. */
export function renderErrorStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? stack : `${stack}\n  caused by: ${renderErrorMessage(error.cause)}`;
}
