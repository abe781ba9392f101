import { expect, test } from 'vitest';
import { type Counts, unrest } from '../../soak/rest.ts';

const one: Counts = {
  claims: ['a', 'b'],
  nodes: ['b', 'a'],
  vms: ['a', 'b'],
  interfaces: ['a', 'b'],
  disks: ['a', 'b'],
  waiting: [],
  running: 3,
};

test('the world is at rest when claims, nodes, VMs, network interfaces and disks are one to one, and no pod waits', () => {
  expect(unrest(one)).toEqual([]);
});

test('what is too many, missing, twice or waits is named', () => {
  expect(unrest({ ...one, vms: ['a', 'b', 'c'] })).toEqual(['VMs are there without a claim: c']);
  expect(unrest({ ...one, nodes: ['a'] })).toEqual(['nodes are missing for claims: b']);
  expect(unrest({ ...one, disks: ['a', 'b', 'b'] })).toEqual(['disks are there twice: b']);
  expect(unrest({ ...one, waiting: ['web-1'] })).toEqual(['pods wait: web-1']);
});
