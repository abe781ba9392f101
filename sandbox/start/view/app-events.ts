/** One structured line that the app logged. */
export interface AppEvent {
  readonly event: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** `[time] {"event":…}` as the Functions host prints it. */
const LINE = /^\[[^\]]*\] (\{.*\})$/;

/** The event in a line of the Functions host; null for a line of the host's own, or one that is cut. */
export function parseAppEvent(line: string): AppEvent | null {
  const json = LINE.exec(line.trimEnd())?.[1];
  if (json === undefined) return null;
  try {
    const { event, ...facts } = JSON.parse(json) as Readonly<Record<string, unknown>>;
    return typeof event === 'string' ? { event, facts } : null;
  } catch {
    return null;
  }
}

/** A fact as text; empty when it is not there. */
export function textFact({ facts }: AppEvent, name: string): string {
  const value = facts[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** A fact as a number; 0 when it is none. */
export function numberFact({ facts }: AppEvent, name: string): number {
  const value = facts[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
