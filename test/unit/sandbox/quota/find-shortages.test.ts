import { describe, expect, test } from 'vitest';
import type { Usage } from '../../../../sandbox/azure/state/quota.ts';
import { findShortages, type QuotaFacts } from '../../../../sandbox/quota/find-shortages.ts';
import type { PossibleMachine } from '../../../../sandbox/quota/possible-machines.ts';
import type { Sku } from '../../../../shared/adapters/azure/catalog/sku.ts';

function usage(name: string, current: number, limit: number): Usage {
  return { name, localizedName: name, current, limit };
}

function facts(...rows: ReadonlyArray<Usage>): QuotaFacts {
  return { usages: rows, refusedFor: () => null };
}

const ROOM = [usage('virtualMachines', 1, 100), usage('famA', 0, 100), usage('famB', 0, 100)] as const;

function machine(
  family: string,
  vCpus: number,
  capacityType: PossibleMachine['capacityType'] = 'on-demand',
): PossibleMachine {
  const sku = { name: `Standard_${family}${vCpus}`, quotaFamily: family, vCpus } as unknown as Sku;
  return { sku, zone: 'westeurope-1', capacityType, holds: vCpus - 1 };
}

describe('quota is the reason that pods wait', () => {
  test('where it stands before every machine that could hold them, with a limit that would do', () => {
    const machines = [machine('famA', 4), machine('famB', 8)];
    expect(findShortages([{ pods: 7, machines }], facts(...ROOM, usage('cores', 6, 8)))).toEqual([
      { name: 'cores', used: 6, limit: 8, pods: 7, suggested: 14, others: 0 },
    ]);
  });

  test('and not where one of the machines is within it', () => {
    const machines = [machine('famA', 8), machine('famB', 2)];
    expect(findShortages([{ pods: 1, machines }], facts(...ROOM, usage('cores', 6, 8)))).toEqual([]);
  });

  test('and not where no machine could hold them anyway', () => {
    expect(findShortages([{ pods: 1, machines: [] }], facts(...ROOM, usage('cores', 8, 8)))).toEqual([]);
  });

  test('of spot machines where theirs is used up, whatever is left to others', () => {
    const machines = [machine('famA', 4, 'spot')];
    const rows = [...ROOM, usage('cores', 0, 100), usage('lowPriorityCores', 3, 4)];
    expect(findShortages([{ pods: 2, machines }], facts(...rows))).toMatchObject([{ name: 'lowPriorityCores' }]);
  });

  test('of the cheapest family where all families are too low, and how many others are', () => {
    const rows = [usage('cores', 0, 100), usage('famA', 0, 0), usage('famB', 2, 3), usage('virtualMachines', 0, 9)];
    const machines = [machine('famB', 4), machine('famA', 4)];
    expect(findShortages([{ pods: 3, machines }], facts(...rows))).toEqual([
      { name: 'famB', used: 2, limit: 3, pods: 3, suggested: 6, others: 1 },
    ]);
  });

  test('of the machine that fewest quotas stand before', () => {
    const rows = [usage('cores', 3, 4), usage('famA', 0, 0), usage('famB', 0, 9), usage('virtualMachines', 0, 9)];
    const machines = [machine('famA', 4), machine('famB', 4)];
    expect(findShortages([{ pods: 1, machines }], facts(...rows)).map(({ name }) => name)).toEqual(['cores']);
  });

  test('of all VMs, counted in VMs', () => {
    const rows = [usage('cores', 0, 100), usage('famA', 0, 100), usage('virtualMachines', 2, 2)];
    expect(findShortages([{ pods: 6, machines: [machine('famA', 4)] }], facts(...rows))).toEqual([
      { name: 'virtualMachines', used: 2, limit: 2, pods: 6, suggested: 4, others: 0 },
    ]);
  });

  test('while a refusal for it is remembered, though smaller machines are within it by now', () => {
    const known = { ...facts(...ROOM, usage('cores', 0, 8)), refusedFor: () => 'cores' };
    expect(findShortages([{ pods: 1, machines: [machine('famA', 4)] }], known)).toMatchObject([
      { name: 'cores', used: 0, limit: 8, suggested: 9 },
    ]);
  });

  test('for the pods of all kinds together, the quota of most pods first', () => {
    const onDemand = [machine('famA', 4)];
    const spot = [machine('famA', 4, 'spot')];
    const rows = [...ROOM, usage('cores', 0, 0), usage('lowPriorityCores', 0, 0)];
    const kinds = [
      { pods: 1, machines: onDemand },
      { pods: 5, machines: spot },
      { pods: 2, machines: onDemand },
    ];
    expect(findShortages(kinds, facts(...rows))).toMatchObject([
      { name: 'lowPriorityCores', pods: 5, suggested: 8 },
      { name: 'cores', pods: 3, suggested: 8 },
    ]);
  });
});
