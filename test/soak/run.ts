import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { churnAndRest, type Outcome } from './churn-and-rest.ts';
import {
  besideFaults,
  countTold,
  cpuPercent,
  emptyFigures,
  keptFigures,
  longestKept,
  longestWaits,
  memoryFigures,
  readyToRemoved,
  seconds,
  setFigures,
  takenBackIn,
  toldToRemoved,
  unusedClaims,
  waitsOf,
} from './measure.ts';
import { fileBeside, parseSoakOptions, type SoakOptions, usage, UsageError } from './options.ts';
import { failuresIn, readTold, removalSets } from './read-lines.ts';
import { renderReport, type Report } from './report.ts';
import { MEMORY_MAX_MB } from './watch-laws.ts';

/** Wrong use, as shells and getopt have it. */
const WRONG_USE = 2;
const LAST_ACTIONS = 12;
const LONGEST = 5;
/** Over so long the CPU at rest is taken. */
const CPU_MS = 60_000;
/** Lines that say that something did not go as planned. */
const WORTH_A_LOOK = [
  'disruption-taken-back',
  'disruption-refused',
  'disruption-step-refused',
  'decision-passed-over',
  'decision-lost',
  'nodeclaim-not-made',
  'pods-not-let-in',
  'offering-refused',
  'interrupted',
  'spot-storm',
  'breaker-tripped',
  'orphan-deleted',
  'left-halfway',
  'retry-later',
  'sweep-step-failed',
  'relay-silent',
  'machine-taken-back',
  'replacement-taken-back',
  'nodeclaim-withdrawn',
];

/** The figures of a soak that has ended. */
function toReport(options: SoakOptions, outcome: Outcome): Report {
  const { observed, book, breaches, samples, endedMs, creations, evictions, lines } = outcome;
  const told = readTold(lines);
  const sets = removalSets(told);
  const pods = [...observed.pods.values()].filter(({ seenMs }) => seenMs >= outcome.churnFromMs);
  const kept = keptFigures(observed.nodes.values(), endedMs);
  const { made: claims, neverUsed, longEmpty } = emptyFigures(observed.claims.values());
  const did = book.done.filter(({ what }) => !what.startsWith('nothing'));
  const parts = Object.keys(MEMORY_MAX_MB);
  const ofPart = <T>(measure: (part: string) => T): Record<string, T> =>
    Object.fromEntries(parts.map((part) => [part, measure(part)]));
  return {
    seed: options.seed,
    controlPlane: options.controlPlane,
    churnSeconds: outcome.churnMs / 1_000,
    restSeconds: outcome.restMs / 1_000,
    actions: Object.fromEntries([...Map.groupBy(did, ({ kind }) => kind)].map(([kind, some]) => [kind, some.length])),
    pods: {
      waits: waitsOf(pods),
      besideFaults: waitsOf(besideFaults(pods, book.troubles)),
      longest: longestWaits(pods, LONGEST),
    },
    atRest: outcome.atRest,
    machines: {
      made: creations,
      evicted: evictions,
      claims,
      neverUsed,
      longEmpty,
      unused: unusedClaims(observed.claims.values()),
    },
    removals: {
      sets: setFigures(sets),
      readyToRemoved: readyToRemoved(sets),
      heldByPods: sets.filter(({ isHeldByPods, removedMs }) => isHeldByPods && removedMs !== null).length,
      toldToRemoved: toldToRemoved(sets),
      takenBack: takenBackIn(told),
    },
    nodes: {
      minutes: kept.nodeMinutes,
      keptMinutes: kept.keptMinutes,
      longestKept: longestKept(observed.nodes, endedMs, LONGEST),
    },
    memoryMb: ofPart((part) => {
      const { leastMb, mostMb, liveMb, grew } = memoryFigures(samples.get(part) ?? []);
      return { least: leastMb, most: mostMb, live: liveMb, grew };
    }),
    cpuAtRest: ofPart((part) => cpuPercent((samples.get(part) ?? []).filter(({ atMs }) => atMs > endedMs - CPU_MS))),
    failedExecutions: failuresIn(lines),
    told: countTold(told, WORTH_A_LOOK),
    breaches,
    lastActions: lastActions(outcome),
  };
}

function lastActions({ book, breaches }: Outcome): ReadonlyArray<string> {
  const untilMs = breaches[0]?.atMs ?? Number.POSITIVE_INFINITY;
  return book.done
    .filter(({ atMs }) => atMs <= untilMs)
    .slice(-LAST_ACTIONS)
    .map(({ atMs, what }) => `${seconds(atMs)} s  ${what}`);
}

async function main(): Promise<number> {
  const draw = (): string => `s-${Math.floor(Math.random() * 1e6)}`;
  const options = parseSoakOptions(process.argv.slice(2), process.env, draw);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (options === null) {
    say(usage);
    return 0;
  }
  say(`soak: seed ${options.seed}, ${options.minutes} minutes on the ${options.controlPlane} control plane`);
  const outcome = await churnAndRest(options, say);
  const report = toReport(options, outcome);
  const file = resolve(options.report);
  mkdirSync(dirname(file), { recursive: true });
  // All that was logged, and the lives of all that was seen, to find out about what the figures show.
  writeFileSync(fileBeside(options, 'log'), `${outcome.lines.join('\n')}\n`);
  const { pods, claims, nodes } = outcome.observed;
  const lives = { done: outcome.book.done, pods: [...pods.values()], claims: [...claims.values()], nodes: [...nodes] };
  writeFileSync(fileBeside(options, 'lives.json'), `${JSON.stringify(lives)}\n`);
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  say(`\n${renderReport(report)}\n\nThe figures are in ${options.report}`);
  return report.breaches.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof UsageError ? error.message : String((error as Error).stack ?? error)}\n`);
  process.exitCode = error instanceof UsageError ? WRONG_USE : 1;
}
process.exit();
