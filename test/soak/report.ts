import type { SetFigures, Spread } from './measure.ts';
import type { Breach } from './watch-laws.ts';

/**
 * Everything that a soak has found, as it is written to its file. Durations are seconds unless named otherwise, money
 * is dollars an hour.
 */
export interface Report {
  readonly seed: string;
  readonly controlPlane: 'embedded' | 'real';
  readonly churnSeconds: number;
  readonly restSeconds: number;
  /** How many actions there were of each kind; those that found nothing to act on are left out. */
  readonly actions: Readonly<Record<string, number>>;
  readonly pods: {
    readonly waits: Spread | null;
    /** Of those that did not wait while Azure had a fault. */
    readonly besideFaults: Spread | null;
    readonly longest: ReadonlyArray<string>;
  };
  readonly atRest: {
    /** After so long all was one to one and every pod ran; null: never. */
    readonly settledAfter: number | null;
    /** Why it was not, at the last look; empty when it was. */
    readonly unrest: ReadonlyArray<string>;
    readonly running: number;
    readonly cost: number | null;
    /** What a plan for the same pods would cost with no node, and with those that a do-not-disrupt pod holds. */
    readonly planned: number | null;
    readonly plannedBesideHeld: number | null;
    /** Names of pods from which do-not-disrupt was taken. */
    readonly letGo: ReadonlyArray<string>;
  };
  readonly machines: {
    readonly made: number;
    readonly evicted: number;
    readonly claims: number;
    readonly neverUsed: number;
    readonly longEmpty: number;
    /** Those that were never used, as sentences. */
    readonly unused: ReadonlyArray<string>;
  };
  readonly removals: {
    readonly sets: ReadonlyArray<SetFigures>;
    readonly readyToRemoved: Spread | null;
    /** Sets that went and that a PodDisruptionBudget held when their replacements were ready: not among these. */
    readonly heldByPods: number;
    readonly toldToRemoved: Spread | null;
    /** Each node of which marks came off, with why, as sentences. */
    readonly takenBack: ReadonlyArray<string>;
  };
  readonly nodes: {
    readonly minutes: number;
    readonly keptMinutes: number;
    /** The nodes that were kept longest, as sentences. */
    readonly longestKept: ReadonlyArray<string>;
  };
  readonly memoryMb: Readonly<
    Record<
      string,
      {
        readonly least: number;
        readonly most: number;
        /** Without garbage, at each measurement. */
        readonly live: ReadonlyArray<number>;
        readonly grew: boolean | null;
      }
    >
  >;
  /** In hundredths of a core, over the last minute of rest; null where it could not be told. */
  readonly cpuAtRest: Readonly<Record<string, number | null>>;
  readonly failedExecutions: number;
  /** How often the product told of what is worth a look. */
  readonly told: Readonly<Record<string, number>>;
  readonly breaches: ReadonlyArray<Breach>;
  /** What was done last before the first breach, or at the end; oldest first. */
  readonly lastActions: ReadonlyArray<string>;
}

/** The report for people: a table, and below it what was broken. */
export function renderReport(report: Report): string {
  const rows = rowsOf(report);
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
  const minutes = (report.churnSeconds / 60).toFixed(1);
  const rest = (report.restSeconds / 60).toFixed(1);
  return [
    `Soak of seed ${report.seed} on the ${report.controlPlane} control plane: ${minutes} minutes of churn, ${rest} of rest`,
    ...table,
    '',
    ...renderVerdict(report),
  ].join('\n');
}

function rowsOf(report: Report): ReadonlyArray<readonly [name: string, text: string]> {
  const { pods, atRest, machines, removals, nodes } = report;
  const { made, evicted, claims, neverUsed, longEmpty } = machines;
  const kept = nodes.minutes === 0 ? 0 : (100 * nodes.keptMinutes) / nodes.minutes;
  const total = Object.values(report.actions).reduce((sum, count) => sum + count, 0);
  return [
    ['actions', `${total}: ${renderCounts(report.actions)}`],
    ['pods that can run', `waited ${renderSpread(pods.waits)}`],
    ['beside faults of Azure', `waited ${renderSpread(pods.besideFaults)}`],
    ['longest waits', pods.longest.map((one) => `\n    ${one}`).join('') || 'none'],
    ['at rest', renderRest(atRest)],
    [
      'machines',
      `${made} made, ${evicted} evicted; ${claims} claims, ${neverUsed} never used, ${longEmpty} empty for more than 45 s`,
    ],
    ['never used', machines.unused.join(' · ') || 'none'],
    ['cost at rest', renderCost(atRest)],
    ['removal sets', removals.sets.map(renderSet).join(', ') || 'none'],
    ['taken back', removals.takenBack.join(' · ') || 'none'],
    [
      'ready to removed',
      `${renderSpread(removals.readyToRemoved)}, ${removals.heldByPods} more held by a PodDisruptionBudget`,
    ],
    ['marked to removed', `${renderSpread(removals.toldToRemoved)}, where nothing comes in their place`],
    ['nodes kept', `${kept.toFixed(1)} % of ${nodes.minutes.toFixed(0)} node-minutes`],
    ['kept longest', nodes.longestKept.join(' · ') || 'none'],
    ['memory', Object.entries(report.memoryMb).map(renderMemory).join('; ')],
    ['CPU at rest', Object.entries(report.cpuAtRest).map(renderCpu).join(', ')],
    ['executions failed', String(report.failedExecutions)],
    ['told', renderCounts(report.told)],
  ];
}

function renderCounts(counts: Readonly<Record<string, number>>): string {
  return (
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ') || 'none'
  );
}

function renderSpread(spread: Spread | null): string {
  if (spread === null) return 'none';
  const [p50, p90, p99, most] = [spread.p50, spread.p90, spread.p99, spread.most].map((value) => value.toFixed(1));
  return `p50 ${p50} s, p90 ${p90}, p99 ${p99}, worst ${most} (${spread.count})`;
}

function renderRest({ settledAfter, unrest, running, letGo }: Report['atRest']): string {
  const held =
    letGo.length === 0 ? '' : `; do-not-disrupt taken off ${letGo.length} pods that held nodes being deleted`;
  if (settledAfter === null) return `not reached: ${unrest.join('; ')}${held}`;
  const now = unrest.length === 0 ? '' : `; at the last look ${unrest.join('; ')}`;
  return `reached after ${settledAfter.toFixed(0)} s, ${running} pods run${now}${held}`;
}

function renderCost({ cost, planned, plannedBesideHeld }: Report['atRest']): string {
  if (cost === null || planned === null || plannedBesideHeld === null) return 'not known';
  const against = (other: number, what: string): string =>
    `$${other.toFixed(3)} planned for ${what}${other === 0 ? '' : `, ${(cost / other).toFixed(2)} times`}`;
  const held = against(plannedBesideHeld, 'one with the nodes that do-not-disrupt pods hold');
  return `$${cost.toFixed(3)} an hour; ${against(planned, 'an empty cluster')}; ${held}`;
}

function renderSet({ reason, told, takenBack }: SetFigures): string {
  return `${told} ${reason} (${takenBack} taken back)`;
}

function renderMemory([part, { least, most, live, grew }]: readonly [string, Report['memoryMb'][string]]): string {
  const growth = grew === null ? 'no life long enough to see growth' : grew ? 'grew' : 'flat';
  const held = live.length === 0 ? '' : ` (without garbage ${live.map((mb) => mb.toFixed(0)).join(', ')})`;
  return `${part} ${least.toFixed(0)} to ${most.toFixed(0)} MB${held}, ${growth}`;
}

function renderCpu([part, percent]: readonly [string, number | null]): string {
  return `${part} ${percent === null ? 'not known' : `${percent.toFixed(1)} % of a core`}`;
}

function renderVerdict({ seed, breaches, lastActions }: Report): ReadonlyArray<string> {
  if (breaches.length === 0) return ['Every law held.'];
  const at = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return [
    `Broken ${breaches.length === 1 ? 'once' : `${breaches.length} times`} (seed ${seed}):`,
    ...breaches.map(({ law, atMs, what }) => `  ${at(atMs)}  ${law}: ${what}`),
    'What was done before the first:',
    ...lastActions.map((line) => `  ${line}`),
  ];
}
