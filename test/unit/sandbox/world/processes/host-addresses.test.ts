import type { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { hostAddresses } from '../../../../../sandbox/world/processes/host-addresses.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

function interfaces(...addresses: ReadonlyArray<string>): Interfaces {
  const entries = addresses.map((address) => ({
    address,
    family: address.includes(':') ? 'IPv6' : 'IPv4',
    internal: address === '127.0.0.1' || address === '::1',
    netmask: '',
    mac: '',
    cidr: null,
    scopeid: 0,
  }));
  return { any: entries as NonNullable<Interfaces[string]> };
}

test('a machine on a network is reached at its own addresses, IPv4 before IPv6', () => {
  expect(hostAddresses(interfaces('127.0.0.1', 'fd00::2', '10.0.0.4', '::1', '192.0.2.7'))).toEqual([
    '10.0.0.4',
    '192.0.2.7',
    'fd00::2',
  ]);
});

test('loopback and link-local addresses are none that the API server connects to', () => {
  expect(hostAddresses(interfaces('127.0.0.1', '169.254.7.1', '::1', 'fe80::1'))).toEqual([]);
});
