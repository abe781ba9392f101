import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import { writeAppZip } from '../../kit/azure-cli/app-zip.ts';
import { type OpenAzure, openAzure } from '../../kit/azure-cli/open-azure.ts';
import { titleOf, tools } from '../../kit/azure-cli/tell.ts';
import { type FaultCase, TOLD, arm, casesOf, drawCases, renderCase } from './faults.ts';

const command = join(resolve(import.meta.dirname, '../../..'), 'cli/bin.js');

/**
 * How many are drawn: each takes a core for most of a minute, and CI has two. `AZURE_CLI_FAULTS=all` tries all of them,
 * in some hours, and a number so many; anything else is a pattern of lines of the report, and tries those.
 * `FAST_CHECK_SEED` draws others.
 */
const WANTED = process.env['AZURE_CLI_FAULTS'] ?? '4';
const SEED = process.env['FAST_CHECK_SEED'] ?? String(Math.floor(Math.random() * 2 ** 31));
/** az computes more than it waits, and CI has two cores. */
const LANES = 2;
/** Ten minutes for each. */
const HOURS_MS = 10 * 60_000 * 400;

describe.skipIf(tools === null)(titleOf('deploy on a bad day, through the real az to a double of Azure'), () => {
  test(
    `any request that fails once stops it with a sentence, and the same typed again goes through (seed ${SEED})`,
    // Another try would take as long, and draw the same.
    { timeout: HOURS_MS, retry: 0 },
    async () => {
      const cases = chosen(await recordedCases());
      expect(cases.length).toBeGreaterThan(0);
      const faults: Array<string> = [];
      const waiting = [...cases];
      const lane = async (): Promise<void> => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
          const startedMs = Date.now();
          const found = await faultsOf(one);
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
  if (/^\d+$/.test(WANTED)) return drawCases(all, Number(WANTED), rngFrom(SEED));
  return all.filter((one) => new RegExp(WANTED).test(renderCase(one)));
}

/** What a deployment on a cluster that has nothing asks for, with all that can go wrong with it. */
async function recordedCases(): Promise<ReadonlyArray<FaultCase>> {
  return inAzure(async (opened, deploy) => {
    const before = opened.requests().length;
    const { code, err } = await opened.type(deploy);
    expect(code, err).toBe(0);
    return casesOf(opened.requests().slice(before));
  });
}

/** What is wrong with how a fault ends, and with what comes of the same command afterwards; empty: nothing. */
function faultsOf(one: FaultCase): Promise<ReadonlyArray<string>> {
  return inAzure(async (opened, deploy) => {
    const disarm = arm(opened, one);
    const first = await opened.type(deploy);
    const isHit = disarm();
    const again = first.code === 0 ? first : await opened.type(deploy);
    const { management } = opened.azure;
    const said = `${first.out}${first.err}`;
    return [
      ...(isHit ? [] : ['the request did not come']),
      ...(first.code === 0 ? [] : sentenceFaults(first.err, said, one)),
      ...(/\n {4}at |internal error/i.test(said) ? [`it shows a stack of ours: ${said}`] : []),
      ...(again.code === 0 ? [] : [`the same typed again ends with ${again.code}: ${again.err}`]),
      ...(management.sites.size === 1 && management.roleAssignments.size === ASSIGNMENTS
        ? []
        : [`there are ${management.sites.size} apps and ${management.roleAssignments.size} assignments of roles`]),
    ];
  });
}

/** Four of the app's, and the one that makes the deployer an administrator in the cluster. */
const ASSIGNMENTS = 5;

/** The last words name the step or what was under way, what Azure said, and what to type. */
function sentenceFaults(err: string, said: string, { kind }: FaultCase): ReadonlyArray<string> {
  const [, sentence = ''] = /✗ ([^]*)$/.exec(err) ?? [];
  return [
    ...(/^(step \d of 6, |cannot )/.test(sentence) ? [] : ['no step is named']),
    ...(TOLD[kind].test(said) ? [] : ['what Azure said is not told']),
    ...(/type the same again|az login|ask an owner|az |run it again/.test(sentence) ? [] : ['nothing is said to type']),
    ...(/Traceback/.test(sentence) ? ['a traceback is shown'] : []),
  ].map((fault) => `${fault}: ${err}`);
}

async function inAzure<T>(act: (opened: OpenAzure, deploy: ReadonlyArray<string>) => Promise<T>): Promise<T> {
  if (tools === null) throw new Error('there is no az');
  const opened = await openAzure(tools, { seed: 'bad day', cluster: 'plain' });
  try {
    const zip = writeAppZip(opened.folder);
    return await act(opened, [command, 'deploy', '--cluster', opened.clusterId, '--app-zip', zip, '--yes']);
  } finally {
    await opened.close();
  }
}
