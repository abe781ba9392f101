import { networkInterfaces } from 'node:os';
import { isProxyableAddress } from '../../kubernetes/proxyable-address.ts';

/**
 * Addresses of this machine that the API server's pod proxy accepts, IPv4 first; empty on a machine that has only
 * loopback.
 */
export function hostAddresses(
  interfaces: Readonly<ReturnType<typeof networkInterfaces>> = networkInterfaces(),
): ReadonlyArray<string> {
  const addresses = Object.values(interfaces)
    .flatMap((all) => all ?? [])
    .filter(({ internal, address }) => !internal && isProxyableAddress(address));
  const of = (family: string): ReadonlyArray<string> =>
    addresses.filter((one) => one.family === family).map(({ address }) => address);
  return [...of('IPv4'), ...of('IPv6')];
}
