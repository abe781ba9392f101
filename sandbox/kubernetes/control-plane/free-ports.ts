import { randomInt } from 'node:crypto';
import { isPortFree } from '../../base/port-free.ts';

/**
 * Below the ports that systems give to outgoing connections (Linux from 32768, others from 49152): one of those that is
 * free now may be the near end of somebody's connection in the next second, and a sandbox makes hundreds.
 */
const FIRST = 15_000;
const LAST = 32_000;
/** So many that are taken in a row is a machine without ports. */
const TRIES_MAX = 1_000;

/**
 * Finds `count` different loopback ports that are free now. Another program may still take one before it is used: the
 * caller starts again with new ports when its child says so.
 */
export async function findFreePorts(count: number): Promise<ReadonlyArray<number>> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries === TRIES_MAX) throw new Error(`no free port among ${TRIES_MAX} tried from ${FIRST} to ${LAST}`);
    const port = randomInt(FIRST, LAST);
    // One is mostly enough.
    if (!ports.has(port) && (await isPortFree(port))) ports.add(port);
  }
  return [...ports];
}
