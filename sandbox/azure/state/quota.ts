import { ArmError } from '../arm/arm-error.ts';
import type { Quota } from './options.ts';
import type { Size } from '../catalog/sizes.ts';

/** What counts against quota: every VM that exists, deallocated and failed ones included. */
export interface Counted {
  readonly size: Size;
  readonly capacityType: 'spot' | 'on-demand';
}

/** One row of a usage list. */
export interface Usage {
  readonly name: string;
  readonly localizedName: string;
  readonly current: number;
  readonly limit: number;
}

/**
 * The 409 for a VM that quota has no room for, null when it fits. On-demand VMs count against their family and the
 * region's total, spot VMs against the low priority cores of the region alone.
 */
export function quotaRefusal(
  wanted: Counted,
  existing: ReadonlyArray<Counted>,
  quota: Quota,
  region: string,
): ArmError | null {
  const rows = usages(existing, quota);
  const names = wanted.capacityType === 'spot' ? ['lowPriorityCores'] : [wanted.size.family.toLowerCase(), 'cores'];
  const applicable = [...names, 'virtualMachines'].map(
    (name) =>
      rows.find((row) => row.name.toLowerCase() === name.toLowerCase()) ?? {
        name: wanted.size.family,
        localizedName: wanted.size.family,
        current: 0,
        limit: limitOf(wanted.size.family, quota),
      },
  );
  for (const row of applicable) {
    const required = row.name === 'virtualMachines' ? 1 : wanted.size.vCpus;
    if (row.current + required > row.limit) return refusal(row, required, region);
  }
  return null;
}

/** Every row of the region's usage list. */
export function usages(
  existing: ReadonlyArray<Counted>,
  quota: Quota,
  families: ReadonlyArray<string> = [],
): ReadonlyArray<Usage> {
  const onDemand = existing.filter(({ capacityType }) => capacityType === 'on-demand');
  const spot = existing.filter(({ capacityType }) => capacityType === 'spot');
  const names = [...new Set([...families, ...onDemand.map(({ size }) => size.family)])].toSorted();
  return [
    {
      name: 'cores',
      localizedName: 'Total Regional vCPUs',
      current: coresOf(onDemand),
      limit: quota.totalRegionalCores,
    },
    {
      name: 'virtualMachines',
      localizedName: 'Virtual Machines',
      current: existing.length,
      limit: quota.virtualMachines,
    },
    {
      name: 'lowPriorityCores',
      localizedName: 'Total Regional Spot vCPUs',
      current: coresOf(spot),
      limit: quota.lowPriorityCores,
    },
    ...names.map((name) => ({
      name,
      localizedName: `${localized(name)} vCPUs`,
      current: coresOf(onDemand.filter(({ size }) => size.family === name)),
      limit: limitOf(name, quota),
    })),
  ];
}

/** `standardDSv2Family` is the Standard DSv2 Family. */
function localized(family: string): string {
  return family.replace(/^standard\s*/i, 'Standard ').replace(/\s*Family$/, ' Family');
}

function coresOf(vms: ReadonlyArray<Counted>): number {
  return vms.reduce((sum, { size }) => sum + size.vCpus, 0);
}

function limitOf(family: string, quota: Quota): number {
  const named = Object.entries(quota.families).find(([name]) => name.toLowerCase() === family.toLowerCase());
  return named?.[1] ?? quota.familyCores;
}

/** The words that tell one quota from another are the wire's: clients match on them. */
function refusal(row: Usage, required: number, region: string): ArmError {
  const subject: { readonly [name: string]: string } = {
    cores: 'Total Regional Cores quota',
    lowPriorityCores: 'LowPriorityCores quota',
    virtualMachines: 'Virtual Machines quota',
  };
  return new ArmError(409, {
    code: 'OperationNotAllowed',
    message:
      `Operation could not be completed as it results in exceeding approved ` +
      `${subject[row.name] ?? `${row.name} Cores quota`}. Additional details - Deployment Model: Resource Manager, ` +
      `Location: ${region}, Current Limit: ${row.limit}, ` +
      `Current Usage: ${row.current}, Additional Required: ${required}, ` +
      `(Minimum) New Limit Required: ${row.current + required}.`,
  });
}
