import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { writeAppZip } from '../../kit/azure-cli/app-zip.ts';
import { type OpenAzure, openAzure } from '../../kit/azure-cli/open-azure.ts';
import { titleOf, tools } from '../../kit/azure-cli/tell.ts';
import { COMMANDS, type Command, type FaultCase, arm, casesOf, drawCases, isTold, renderCase } from './faults.ts';
import { type Kept, keep, restore } from './state.ts';

const command = join(resolve(import.meta.dirname, '../../..'), 'cli/bin.js');

/**
 * How many are drawn, over all commands: each takes a core for one minute or two, and CI has two for all that it runs.
 * `AZURE_CLI_FAULTS=all` tries all of them, in some hours, a number so many, and `12 of uninstall` so many of a
 * command; anything else is a pattern of lines of the report, and tries those. `FAST_CHECK_SEED` draws others.
 */
const WANTED = process.env['AZURE_CLI_FAULTS'] ?? '2';
const SEED = process.env['FAST_CHECK_SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));
/** az computes more than it waits, and CI has two cores. */
const LANES = 2;
/** Ten minutes for each. */
const HOURS_MS = 10 * 60_000 * 1_000;

describe.skipIf(tools === null)(titleOf('a bad day, through the real az to a double of Azure'), () => {
  test(
    `any request of a command that fails once stops it with a sentence, and the same typed again goes through (seed ${SEED})`,
    { timeout: HOURS_MS },
    async () => {
      const { all, deployed } = await record();
      const cases = chosen(all);
      expect(cases.length).toBeGreaterThan(0);
      const faults: Array<string> = [];
      const waiting = [...cases];
      const lane = async (): Promise<void> => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
          const startedMs = Date.now();
          const found = await faultsOf(one, deployed);
          faults.push(...found.map((fault) => `${renderCase(one)}: ${fault}`));
          // Hours of it are watched.
          const seconds = Math.round((Date.now() - startedMs) / 1_000);
          process.stdout.write(`${found.length === 0 ? '✓' : '✗'} ${renderCase(one)} (${seconds} s)\n`);
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      expect(faults).toEqual([]);
    },
  );
});

function chosen(all: ReadonlyArray<FaultCase>): ReadonlyArray<FaultCase> {
  if (WANTED === 'all') return all;
  const [, count, named] = /^(\d+)(?: of (\w+))?$/.exec(WANTED) ?? [];
  if (count !== undefined) {
    return drawCases(
      all.filter((one) => named === undefined || one.command === named),
      Number(count),
      rngFrom(SEED),
    );
  }
  return all.filter((one) => new RegExp(WANTED).test(renderCase(one)));
}

/**
 * What each command asks for, with all that can go wrong with it: `deploy` on a cluster that has nothing, the others on
 * what it has made, which is kept for them.
 */
function record(): Promise<{ readonly all: ReadonlyArray<FaultCase>; readonly deployed: Kept }> {
  return inAzure(async (opened) => {
    const all: Array<FaultCase> = [];
    let deployed: Kept | null = null;
    for (const name of COMMANDS) {
      const before = opened.requests().length;
      const { code, err } = await opened.type(wordsOf(opened, name));
      expect(code, err).toBe(0);
      all.push(...casesOf(name, opened.requests().slice(before)));
      deployed ??= keep(opened);
    }
    if (deployed === null) throw new Error('nothing was typed');
    return { all, deployed };
  });
}

/** What is wrong with how a fault ends, and with what comes of the same command afterwards; empty: nothing. */
function faultsOf(one: FaultCase, deployed: Kept): Promise<ReadonlyArray<string>> {
  return inAzure(async (opened) => {
    if (one.command !== 'deploy') restore(opened, deployed);
    const words = wordsOf(opened, one.command);
    const disarm = arm(opened, one);
    const first = await opened.type(words);
    const isHit = disarm();
    const again = first.code === 0 ? first : await opened.type(words);
    const said = `${first.out}${first.err}`;
    return [
      ...(isHit ? [] : ['the request did not come']),
      ...(first.code === 0 ? [] : sentenceFaults(first.err, said, one)),
      ...(/\n {4}at |internal error/i.test(said) ? [`it shows a stack of ours: ${said}`] : []),
      ...(again.code === 0 || isForgotten(one, again.err)
        ? []
        : [`the same typed again ends with ${again.code}: ${again.err}`]),
      ...stateFaults(opened, one),
    ];
  });
}

/** Four of the app's, and the one that makes the deployer an administrator in the cluster, who stays one. */
const ASSIGNMENTS = 5;

/** Everything is there once, or gone but for what is not the deployment's. */
function stateFaults({ azure: { management } }: OpenAzure, one: FaultCase): ReadonlyArray<string> {
  const { cloud, deployments, inCluster, roleAssignments, sites } = management;
  const found = [cloud.groups.size, deployments.size, sites.size, roleAssignments.size, inCluster.isInstalled];
  const wanted = one.command === 'uninstall' ? [0, 0, 0, 1, false] : [1, 1, 1, ASSIGNMENTS, true];
  return String(found) === String(wanted)
    ? []
    : [`of groups, deployments, apps, assignments of roles and chart there are ${found.join()}, not ${wanted.join()}`];
}

/** An answer that was lost after the last thing was removed: then there is nothing left to remove. */
function isForgotten({ command: name, kind }: FaultCase, err: string): boolean {
  return name === 'uninstall' && kind === 'connection cut' && err.includes('nothing is deployed for this cluster');
}

/** The last words name the step or what was under way, what Azure said, and what to type. */
function sentenceFaults(err: string, said: string, one: FaultCase): ReadonlyArray<string> {
  const [, sentence = ''] = /✗ ([^]*)$/.exec(err) ?? [];
  return [
    ...(/^(step \d of \d, |cannot )/.test(sentence) ? [] : ['no step is named']),
    ...(isTold(said, one) ? [] : ['what Azure said is not told']),
    ...(/type the same again|az login|ask an owner|az |run it again/.test(sentence) ? [] : ['nothing is said to type']),
    ...(/Traceback/.test(sentence) ? ['a traceback is shown'] : []),
  ].map((fault) => `${fault}: ${err}`);
}

function wordsOf({ clusterId, folder }: OpenAzure, name: Command): ReadonlyArray<string> {
  const words = [command, name, '--cluster', clusterId, '--yes'];
  if (name === 'uninstall') return words;
  return [...words, '--app-zip', writeAppZip(folder, name === 'upgrade' ? '2.0.0' : '1.0.0')];
}

async function inAzure<T>(act: (opened: OpenAzure) => Promise<T>): Promise<T> {
  if (tools === null) throw new Error('there is no az');
  const opened = await openAzure(tools, { seed: 'bad day', cluster: 'plain' });
  try {
    return await act(opened);
  } finally {
    await opened.close();
  }
}
