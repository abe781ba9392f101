/** True for a JSON object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads a JSON object with comments and a byte order mark allowed, as host.json may have them. Throws, naming `source`.
 */
export function parseJsonObject(text: string, source: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(withoutComments(text));
  } catch (error) {
    throw new Error(`${source}: not valid JSON (${error instanceof Error ? error.message : String(error)}).`, {
      cause: error,
    });
  }
  if (!isObject(value)) throw new Error(`${source}: a JSON object is expected.`);
  return value;
}

function withoutComments(text: string): string {
  // A string is matched first and kept, so that a "//" within a URL is not taken for a comment.
  const stringOrComment = /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(/^\uFEFF/, '').replace(stringOrComment, (_match, quoted: string | undefined) => quoted ?? '');
}
