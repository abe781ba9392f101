import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { claimName } from '../../../../shared/app/facts/derived-name.ts';
import { claimOfVm, vmNameOf } from '../../../../shared/contract/vm-name.ts';
import { nodeNameOf } from '../../../../shared/app/facts/node-name.ts';

const dnsLabel = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const poolName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

test('a claim of a decision has the same name each time, and names a VM that Azure and Kubernetes accept', () => {
  fc.assert(
    fc.property(poolName, fc.string(), fc.nat(5000), (pool, decision, index) => {
      const name = claimName(pool, decision, index);
      expect(name).toBe(claimName(pool, decision, index));
      expect(name).toMatch(dnsLabel);
      expect(vmNameOf(name).length).toBeLessThanOrEqual(63);
    }),
  );
});

test('five thousand claims of one decision have five thousand names', () => {
  const names = Array.from({ length: 5_000 }, (_, index) => claimName('general', '000000001-abc', index));
  expect(new Set(names).size).toBe(5_000);
});

test('a VM name leads back to its claim in any casing, and foreign names to none', () => {
  expect(claimOfVm('AKS-General-0abc')).toBe('general-0abc');
  expect(claimOfVm('vmss_3')).toBeNull();
});

test('a claim names its Node before the Node is known, and believes its status after', () => {
  const spec = { nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, requirements: [] };
  const claim = { metadata: { name: 'general-0abc' }, spec };
  expect(nodeNameOf(claim)).toBe('aks-general-0abc');
  expect(nodeNameOf({ ...claim, status: { nodeName: 'other' } })).toBe('other');
});

test('a claim is named for its pool and eight digits, and of a long pool for as much as a computer name holds', () => {
  expect(claimName('general', '000000001-abc', 0)).toMatch(/^general-[0-9a-z]{8}$/);
  expect(claimName('a'.repeat(63), '000000001-abc', 0)).toMatch(/^a{50}-[0-9a-z]{8}$/);
});

test('a claim’s name has no stray signs where its pool’s is cut, and all others', () => {
  expect(claimName(`a-b.c${'d'.repeat(43)}-.e`, '000000001-abc', 0)).toMatch(/^a-b\.cd{43}-[0-9a-z]{8}$/);
});
