import { parseArgs } from 'node:util';
import { rngFrom } from '../../sandbox/base/rng.ts';
import { runSeed, seedsFrom } from './run-seed.ts';
import { drawFaults } from './trouble/draw-faults.ts';
import { renderDrawn } from './trouble/render-drawn.ts';

/**
 * Many seeds in one process: `node test/simulation/run-seeds.ts --from 10000 --count 2000 --disruption`. Prints each
 * failure as it comes, how many there were and how long it took, and ends with 1 where there was one. `--lines`: how
 * much of what happened last a failure shows. `--having withoutProviderId` leaves out seeds that do not draw that: any
 * word of the head of a failure.
 * `--bail`: ends with the first failure.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '0' },
    count: { type: 'string', default: '100' },
    disruption: { type: 'boolean', default: false },
    lines: { type: 'string', default: '0' },
    having: { type: 'string', default: '' },
    bail: { type: 'boolean', default: false },
  },
});

/** Does the seed draw what was asked for? */
function isAskedFor(seed: string): boolean {
  if (values.having === '') return true;
  const faults = drawFaults(rngFrom(`${seed}/faults`));
  const policies = faults.policies.map(({ verb, resource, scope }) => `${verb} ${resource} of ${scope}`);
  return renderDrawn(faults, policies).some((line) => line.includes(values.having));
}

const startedMs = performance.now();
const secondsSince = (): string => ((performance.now() - startedMs) / 1000).toFixed(0);
const failed: Array<string> = [];
const seeds = seedsFrom(Number(values.from), Number(values.count)).filter(isAskedFor);
for (const [index, seed] of seeds.entries()) {
  if (index > 0 && index % 100 === 0) console.error(`${index} seeds in ${secondsSince()} s`);
  // One at a time: a run computes and waits for nothing.
  const failure = await runSeed(seed, values.disruption, Number(values.lines));
  if (failure === null) continue;
  failed.push(seed);
  console.log(`${failure}\n`);
  if (values.bail) break;
}
console.log(`${seeds.length} seeds in ${secondsSince()} s, ${failed.length} failed: ${failed.join(' ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
