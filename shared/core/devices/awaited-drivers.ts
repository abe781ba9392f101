import type { ResourceSlice } from '../../kubernetes/device-manifest.ts';
import { poolsOf } from './devices.ts';

/**
 * Of the drivers, separated by commas, those that have no whole pool on the node yet: a driver may publish its devices
 * in several slices, and says in each how many there are.
 */
export function awaitedDrivers(
  drivers: string,
  slices: ReadonlyArray<ResourceSlice>,
  node: string,
): ReadonlyArray<string> {
  const pools = poolsOf(slices.filter(({ spec }) => spec.nodeName === node));
  const whole = pools.filter(({ state }) => state !== 'being-updated');
  const published = new Set(whole.map(({ id }) => id.slice(0, id.indexOf('/'))));
  const wanted = drivers.split(',').map((name) => name.trim());
  return wanted.filter((name) => name !== '' && !published.has(name));
}
