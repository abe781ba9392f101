interface Headers {
  get(name: string): string | undefined;
}

/**
 * How long Azure asks to wait, in milliseconds; null where it does not, or names a time that has passed. In the headers
 * that the SDK honours, in its order; else in the words of the resource manager: "Please try again after '372'
 * seconds."
 */
export function pauseOf(headers: Headers | undefined, message: string, nowMs: number): number | null {
  const inMs = Number(headers?.get('retry-after-ms') ?? headers?.get('x-ms-retry-after-ms'));
  if (inMs > 0) return inMs;
  const told = headers?.get('retry-after') ?? '';
  const [, inWords] = IN_WORDS.exec(message) ?? [];
  const seconds = Number(told === '' ? inWords : told);
  const ms = Number.isNaN(seconds) ? Date.parse(told) - nowMs : seconds * 1000;
  return ms > 0 ? ms : null;
}

const IN_WORDS = /try again after '?(\d+)'? seconds/i;
