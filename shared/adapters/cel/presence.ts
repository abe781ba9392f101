/**
 * Rewrites `has(a["b"].c)` to `("c" in a["b"])`: for maps the two mean the same, and our CEL library knows the first
 * for plain names only, while selectors of devices are full of it. Text within quotes is left alone.
 */
export function withoutIndexedHas(expression: string): string {
  let rest = expression;
  let done = '';
  for (;;) {
    const start = startOfHas(rest);
    const end = start === null ? null : endOfCall(rest, start.argument);
    if (start === null || end === null) return done + rest;
    const argument = withoutIndexedHas(rest.slice(start.argument, end));
    const selection = /^(.*\S)\s*\.\s*([A-Za-z_]\w*)\s*$/s.exec(argument);
    const [, operand = '', field = ''] = selection ?? [];
    const isIndexed = operand.includes('[');
    done += rest.slice(0, start.call) + (isIndexed ? `("${field}" in (${operand}))` : `has(${argument})`);
    rest = rest.slice(end + 1);
  }
}

function startOfHas(text: string): { readonly call: number; readonly argument: number } | null {
  for (let at = 0; at < text.length; at = afterToken(text, at)) {
    const match = /^has\s*\(/.exec(text.slice(at));
    if (match !== null && !/[\w.]/.test(text[at - 1] ?? '')) return { call: at, argument: at + match[0].length };
  }
  return null;
}

/** Where the parenthesis closes that was opened before `start`; null when none does. */
function endOfCall(text: string, start: number): number | null {
  let depth = 1;
  for (let at = start; at < text.length; at = afterToken(text, at)) {
    if (text[at] === '(') depth++;
    if (text[at] === ')') depth--;
    if (depth === 0) return at;
  }
  return null;
}

/** The place after the character at `at`, or after the quoted text that begins there. */
function afterToken(text: string, at: number): number {
  const quoted = /^(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/.exec(text.slice(at));
  return at + (quoted?.[0].length ?? 1);
}
