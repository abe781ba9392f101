import { isCovered, mergeRefusals, toRefusal, type Refusal } from '../../../shared/adapters/azure/catalog/refusals.ts';
import type { Sku } from '../../../shared/adapters/azure/catalog/sku.ts';
import type { CapacityType, InstanceType } from '../../../shared/core/model/catalog.ts';
import { offeringStorm } from '../../../shared/adapters/azure/catalog/kept-spot-storms.ts';
import { stormsAt, type SpotMemory } from '../../../shared/core/offerings/spot-storms.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { PlannedOffering } from '../../../shared/core/model/plan.ts';
import type { RefusedOffering } from '../../../shared/ports/cloud.ts';

/** Two zones and six sizes of two families: few enough that pods, sizes and refusals meet all the time. */
export const zones = ['sim-1', 'sim-2'] as const;
export const capacityTypes: ReadonlyArray<CapacityType> = ['spot', 'on-demand'];

const rows = [
  ['Standard_D2s_v5', 2, 8, 100_000],
  ['Standard_D4s_v5', 4, 16, 200_000],
  ['Standard_D8s_v5', 8, 32, 400_000],
  ['Standard_E2s_v5', 2, 16, 130_000],
  ['Standard_E4s_v5', 4, 32, 260_000],
] as const;

const skus = new Map(
  rows.map(([name, vCpus]) => [
    name as string,
    { name, vCpus, quotaFamily: `family${name.charAt(9)}` } as unknown as Sku,
  ]),
);

/** The sizes, with what `refusals` cover marked unavailable. */
export function instanceTypesAt(
  refusals: ReadonlyArray<Refusal>,
  memory: SpotMemory,
  nowMs: number,
): ReadonlyArray<InstanceType> {
  const storms = stormsAt(memory, nowMs);
  return rows.map(([name, cpu, gib, price]) => ({
    name,
    labels: {
      'kubernetes.io/arch': ['amd64'],
      'kubernetes.io/os': ['linux'],
      'node.kubernetes.io/instance-type': [name],
      'karpenter.azure.com/sku-name': [name],
      'karpenter.azure.com/sku-family': [name.charAt(9)],
      'karpenter.azure.com/sku-cpu': [String(cpu)],
    },
    capacity: { cpu: String(cpu), memory: `${gib}Gi`, pods: '30' },
    overhead: { cpu: '100m', memory: '1Gi' },
    offerings: zones.flatMap((zone) =>
      capacityTypes.map((capacityType) => {
        const storm = capacityType === 'spot' ? offeringStorm(storms, familyOf(name), zone) : null;
        return {
          zone,
          capacityType,
          price: microUsdPerHour(capacityType === 'spot' ? price / 4 : price),
          available: !isCovered(refusals, skuOf(name), zone, capacityType, nowMs),
          labels: {},
          ...(storm === null ? {} : { storm }),
        };
      }),
    ),
  }));
}

function skuOf(name: string): Sku {
  const sku = skus.get(name);
  if (sku === undefined) throw new Error(`no size ${name}`);
  return sku;
}

/** What all instances share about refusals, by the real rules. */
export function addRefusals(
  known: ReadonlyArray<Refusal>,
  added: ReadonlyArray<RefusedOffering>,
  nowMs: number,
): ReadonlyArray<Refusal> {
  const refusals = added.map((one) => toRefusal(one, skus.get(one.offering.instanceType) ?? null, nowMs));
  return mergeRefusals(known, refusals, nowMs);
}

/** Whether such an offering was refused at that time, or may have been: until less than two minutes before it. */
export function isRefusedSince(
  refused: ReadonlyArray<Refusal>,
  { instanceType, zone, capacityType }: Pick<PlannedOffering, 'instanceType' | 'zone' | 'capacityType'>,
  atMs: number,
): boolean {
  return isCovered(refused, skuOf(instanceType), zone, capacityType, atMs - 2 * 60_000);
}

/** The quota family of a size. */
export function familyOf(size: string): string {
  return skus.get(size)?.quotaFamily ?? size;
}

export function vCpusOf(size: string): number {
  return skus.get(size)?.vCpus ?? 0;
}
