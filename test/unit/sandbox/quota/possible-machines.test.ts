import { expect, test } from 'vitest';
import { possibleMachines } from '../../../../sandbox/quota/possible-machines.ts';
import type { Sku } from '../../../../shared/adapters/azure/catalog/sku.ts';
import type { NodePool } from '../../../../shared/kubernetes/manifest.ts';
import type { NodeClass } from '../../../../shared/ports/kubernetes.ts';
import { pool, size, spec } from '../../../kit/core/build.ts';

const name = 'Standard_D2s_v5';
const types = [size(name, 2, 8, 100_000)];
const skus = new Map([[name, { name } as unknown as Sku]]);
const classes = new Map([['default', { metadata: { name: 'default' }, spec: {} } as NodeClass]]);

function machinesOf(one: NodePool): number {
  return possibleMachines(spec('1', '1Gi'), { pools: [one], classes }, skus, () => types).length;
}

test('pools of other providers make no machine possible, whatever their class is called', () => {
  const ours = pool('general');
  const { template } = ours.spec;
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const theirs = { ...ours, spec: { template: { ...template, spec: { ...template.spec, nodeClassRef } } } };
  expect(machinesOf(ours)).toBeGreaterThan(0);
  expect(machinesOf(theirs)).toBe(0);
});
