import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployment, nodeClass, nodePool, oneToANode } from '../kit/manifests.ts';
import { areEquipped, conditionOf, isRunning } from '../kit/state.ts';
import { type World, eventsOf, startWorld } from '../kit/world.ts';

const PODS = 4;
const PAUSE_S = 60;

/** A launch that waited for the throttled one would wait a minute; a machine that is shared by many gets this. */
const HELD_MAX_MS = 10_000;

const throttledOnce = {
  method: 'PUT',
  pathContains: '/virtualMachines/',
  times: 1,
  fault: {
    kind: 'refuse',
    status: 429,
    code: 'OperationNotAllowed',
    message: 'The server rejected the request because too many requests have been received for this VM.',
    retryAfterSeconds: PAUSE_S,
  },
} as const;

describe('a launch that Azure throttles for a minute', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld('embedded', {});
    await world.apply(nodeClass, nodePool('general'));
  });
  afterAll(async () => {
    await world?.close();
  });

  it('holds up no other, says so on its claim, and is made when the minute is over', async () => {
    await world.apply(deployment('before', PODS, { cpu: '1500m', pod: oneToANode('before') }));
    // The fault meets any PUT below a VM's path: it is not for the extension, which comes when a node has joined.
    await world.until(
      'all run, and are equipped',
      (state) => state.pods.filter(isRunning).length === PODS && areEquipped(state),
    );
    const usual = Math.max(...launches().values());
    const known = new Set(launches().keys());

    world.sandbox.azure.orderFault(throttledOnce);
    await world.apply(deployment('after', PODS, { cpu: '1500m', pod: oneToANode('after') }));
    const { claims } = await world.until(
      'all but one are launched, and that says why not',
      ({ claims: all }) =>
        all.some((claim) => conditionOf(claim, 'Launched')?.reason === 'RequestsThrottled') &&
        newOnes(known).length === PODS - 1,
    );
    const throttled = claims.filter((claim) => conditionOf(claim, 'Launched')?.reason === 'RequestsThrottled');
    expect(throttled).toHaveLength(1);
    expect(throttled.map((claim) => conditionOf(claim, 'Launched')?.message).join()).toMatch(
      /^Azure throttles requests: asked again at \d{4}-.*429 OperationNotAllowed The server rejected/,
    );
    for (const [, ms] of newOnes(known)) expect(ms).toBeLessThan(usual + HELD_MAX_MS);

    await world.until('it is made', ({ pods }) => pods.filter(isRunning).length === 2 * PODS, 2 * PAUSE_S * 1000);
    const [name = ''] = throttled.map(({ metadata }) => metadata.name);
    expect(launches().get(name)).toBeGreaterThanOrEqual(PAUSE_S * 1000);
    expect(launches().size).toBe(2 * PODS);
  });

  /** How long after its creation each claim was launched, in milliseconds. */
  function launches(): ReadonlyMap<string, number> {
    return new Map(
      eventsOf(world.lines).flatMap(({ event, facts }) =>
        event === 'nodeclaim-launched' ? [[String(facts['claim']), Number(facts['sinceCreatedMs'])] as const] : [],
      ),
    );
  }

  function newOnes(known: ReadonlySet<string>): ReadonlyArray<readonly [string, number]> {
    return [...launches()].filter(([claim]) => !known.has(claim));
  }
});
