/** A text of the planner's, which stands after other words, as one that begins. */
export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
