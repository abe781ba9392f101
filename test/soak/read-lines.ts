import { parseAppEvent, textFact } from '../../sandbox/start/view/app-events.ts';

/** One structured line of the product. */
export interface Told {
  /** Milliseconds since the run began. */
  readonly atMs: number;
  readonly event: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Nodes that were told to go together. */
export interface RemovalSet {
  readonly decision: string;
  readonly reason: string;
  readonly nodes: number;
  readonly replacements: number;
  readonly toldMs: number;
  /** When the last replacement was ready, those that were bought later among them; null: there was none, or not yet. */
  readonly readyMs: number | null;
  /** Did a look after that wait for a PodDisruptionBudget? */
  readonly isHeldByPods: boolean;
  /** When the last of its nodes began to go; null: none did. */
  readonly removedMs: number | null;
  readonly isTakenBack: boolean;
}

/** Events by which the product says that a plan of its own was wrong, or that it has given a message up. */
const CONFESSIONS: ReadonlySet<string> = new Set([
  'plan-refused',
  'disruption-plan-refused',
  'removal-refused',
  'message-kept',
  'nodeclaim-refused',
]);

/** Reads lines as a world keeps them: `12.34 functions: [TIME] {"event":…}`. Others are left out. */
export function readTold(lines: ReadonlyArray<string>): ReadonlyArray<Told> {
  return lines.flatMap((line) => {
    const [, seconds = '', text = ''] = /^([\d.]+) functions: (.*)$/s.exec(line) ?? [];
    const found = parseAppEvent(text);
    return found === null ? [] : [{ atMs: 1_000 * Number(seconds), ...found }];
  });
}

/** The confessions among what was told, as sentences. */
export function confessionsIn(told: ReadonlyArray<Told>): ReadonlyArray<string> {
  return told
    .filter(
      ({ event, facts }) => CONFESSIONS.has(event) && !(event === 'nodeclaim-refused' && facts['policy'] !== null),
    )
    .map(({ event, facts }) => `${event} ${JSON.stringify(facts)}`);
}

/** Executions that ended with an exception. */
export function failuresIn(lines: ReadonlyArray<string>): number {
  return lines.filter((line) => / functions: .*Executed '[^']*' \(Failed,/.test(line)).length;
}

/** All removal sets that were told, in order, with what came of them. */
export function removalSets(told: ReadonlyArray<Told>): ReadonlyArray<RemovalSet> {
  const latest = (event: string, field: string, names: ReadonlyArray<string>): number | null =>
    told.findLast((one) => one.event === event && names.includes(textFact(one, field)))?.atMs ?? null;
  return told
    .filter(({ event }) => event === 'disruption-begun')
    .map((one) => {
      const decision = textFact(one, 'decision');
      const replacements = namesIn(one, 'replacements');
      const later = told.filter(
        ({ event, facts }) => event === 'disruption-topped-up' && facts['removal'] === decision,
      );
      const all = [...replacements, ...later.flatMap((more) => namesIn(more, 'replacements'))];
      const readyMs = latest('nodeclaim-initialized', 'claim', all);
      const removedMs = latest('disrupted', 'removal', [decision]);
      return {
        decision,
        reason: textFact(one, 'reason'),
        nodes: namesIn(one, 'nodes').length,
        replacements: replacements.length,
        toldMs: one.atMs,
        readyMs,
        isHeldByPods: readyMs !== null && looksOf(told, readyMs, removedMs ?? Infinity).some(isHeldByPods),
        removedMs,
        isTakenBack: latest('disruption-taken-back', 'removal', [decision]) !== null,
      };
    });
}

/** Looks of disruption between two moments. */
function looksOf(told: ReadonlyArray<Told>, fromMs: number, toMs: number): ReadonlyArray<Told> {
  return told.filter(({ event, atMs }) => event === 'disruption-looked' && atMs >= fromMs && atMs <= toMs);
}

function isHeldByPods(look: Told): boolean {
  return textFact(look, 'why').includes('PodDisruptionBudget');
}

function namesIn(one: Told, field: string): ReadonlyArray<string> {
  return textFact(one, field).split(',').filter(Boolean);
}
