import { BlockList, isIP } from 'node:net';

/** What no machine's own unicast address is: unspecified, loopback, link-local, multicast and broadcast. */
const others = new BlockList();
others.addAddress('0.0.0.0');
others.addSubnet('127.0.0.0', 8);
others.addSubnet('169.254.0.0', 16);
others.addSubnet('224.0.0.0', 4);
others.addAddress('255.255.255.255');
others.addAddress('::', 'ipv6');
others.addAddress('::1', 'ipv6');
others.addSubnet('fe80::', 10, 'ipv6');
others.addSubnet('ff00::', 8, 'ipv6');

/**
 * True for addresses to which the API server's pod proxy connects: Go's `IsGlobalUnicast`, which private ones pass too.
 */
export function isProxyableAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !others.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
