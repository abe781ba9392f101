/**
 * Text from manifests, the API and Azure may hold what a terminal obeys or hides: escape sequences, marks that turn the
 * direction of writing round, characters without width. Here it is made to say what it holds.
 */

/**
 * Controls (C0, DEL, C1), format characters (of direction, without width, tags), and separators of lines and
 * paragraphs.
 */
const HARMFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const BREAKS = /[\t\n\r]+/g;

/**
 * One line of text that no terminal obeys: breaks of lines become a blank, other such characters `\u{202e}`. Twice is
 * once.
 */
export function harmless(text: string): string {
  return text.replaceAll(BREAKS, ' ').replaceAll(HARMFUL, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same of text of several lines, which may be indented by tabs. */
export function harmlessLines(text: string): string {
  return text
    .split(/([\t\n])/)
    .map((part) => (part === '\t' || part === '\n' ? part : harmless(part)))
    .join('');
}

/** Is there anything in the text that `harmless` would change? */
export function isHarmless(text: string): boolean {
  return text.search(HARMFUL) < 0;
}

/**
 * JSON that says the same, its harmful characters as escapes of JSON; blanks and line breaks between values are kept.
 */
export function harmlessJson(json: string): string {
  return json.replaceAll(HARMFUL, (one) => (one === '\n' ? one : one.split('').map(escaped).join('')));
}

function escaped(codeUnit: string): string {
  return `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
