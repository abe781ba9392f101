/** `1 pod`, `2 pods`. */
export function renderCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The first `most` of the names, and how many others there are: `a, b and 2 other nodes`. */
export function renderFirst(names: ReadonlyArray<string>, most: number, noun: string): string {
  const more = names.length - most;
  const shown = names.slice(0, most).join(', ');
  return more > 0 ? `${shown} and ${renderCount(more, `other ${noun}`)}` : shown;
}
