import { startWorld, type World } from '../e2e/kit/world.ts';
import { deployment, nodeClass, nodePool } from '../e2e/kit/manifests.ts';
import { openQueues } from '../e2e/kit/queues.ts';
import { isRunning } from '../e2e/kit/state.ts';

/**
 * Measures a cold start of the app as `npm run build` made it: a message waits in the queue, the Functions host's
 * process is spawned, and the first message is used.
 *
 *     node test/bench/cold-start.ts [rounds, default 10]
 *
 * The host is the sandbox's: what Azure adds before it starts our worker is not in here. Prints per moment the median
 * and the slowest of all rounds, in milliseconds since the spawn.
 */
const rounds = Number(process.argv[2] ?? 10);

const MOMENTS = [
  ['the app is loaded and listens', /Host started/],
  ['the first message arrives', /Executing 'Functions\.follow'/],
  ['the first message is done', /Executed 'Functions\.follow' \(Succeeded/],
] as const;

/** Even on a busy machine a start takes a fraction of this. */
const ROUND_WITHIN_MS = 30_000;

async function measure(): Promise<void> {
  const world = await startWorld('embedded', { sweepSchedule: '0 0 0 1 1 *' });
  try {
    await world.apply(nodeClass, nodePool('general'), deployment('inflate', 4));
    await world.until('four pods run', ({ pods }) => pods.filter(isRunning).length === 4);
    // A relay that hints meanwhile would blur the first message.
    await world.sandbox.relay.stop();
    const times: Array<ReadonlyArray<number>> = [];
    for (let round = 0; round < rounds; round++) times.push(await oneStart(world, round));
    MOMENTS.forEach(([name], moment) => {
      const values = times.map((one) => one[moment] ?? Number.NaN).toSorted((a, b) => a - b);
      console.log(`${name}: median ${values[Math.floor(values.length / 2)]} ms, slowest ${values.at(-1)} ms`);
    });
  } finally {
    await world.close();
  }
}

/** Milliseconds from the spawn to each moment. */
async function oneStart(world: World, round: number): Promise<ReadonlyArray<number>> {
  const { host } = world.sandbox;
  await host.kill();
  const claim = (await world.state()).claims[0]?.metadata.name ?? '';
  const queues = openQueues(world);
  const object = { kind: 'NodeClaim', name: claim };
  const body = { kind: 'objects', version: 1, cluster: 'sandbox', objects: [object], reason: `cold start ${round}` };
  await queues.send('claims', body, {});
  await queues.close();
  const from = world.lines.length;
  const spawnedMs = performance.now();
  const seen: Array<number> = [];
  const watch = setInterval(() => {
    const next = MOMENTS[seen.length];
    if (next !== undefined && world.lines.slice(from).some((line) => next[1].test(line))) {
      seen.push(Math.round(performance.now() - spawnedMs));
    }
  }, 1);
  try {
    await host.start();
    await world.until('the first message is done', () => seen.length === MOMENTS.length, ROUND_WITHIN_MS);
  } finally {
    clearInterval(watch);
  }
  return seen;
}

await measure();
