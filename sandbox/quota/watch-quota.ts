import { type InstanceTypeSettings, toInstanceTypes } from '../../shared/adapters/azure/catalog/instance-types.ts';
import type { InstanceType } from '../../shared/core/model/catalog.ts';
import type { NodePool, PodSpec } from '../../shared/kubernetes/manifest.ts';
import { podRequests } from '../../shared/core/rules/pod-requests.ts';
import type { NodeClass } from '../../shared/ports/kubernetes.ts';
import type { Azure } from '../azure/running-azure.ts';
import type { Size } from '../azure/catalog/sizes.ts';
import { findShortages, type QuotaShortage, type WaitingPods } from './find-shortages.ts';
import { type PossibleMachine, possibleMachines, toSkus } from './possible-machines.ts';
import { createQuotaRefusals, type LoggedRefusal } from './quota-refusals.ts';

/** What a watch over quota needs. */
export interface QuotaWatchOptions {
  readonly azure: Pick<Azure, 'usages' | 'skus' | 'isFull'>;
  /** By name in lower case. */
  readonly sizes: ReadonlyMap<string, Size>;
  readonly settings: InstanceTypeSettings;
  readonly pools: () => Iterable<NodePool>;
  /** By name. */
  readonly classes: () => ReadonlyMap<string, NodeClass>;
}

/** Says whether quota is why pods wait. */
export interface QuotaWatch {
  /** Told of every refusal of Azure's. */
  readonly tell: (refusal: LoggedRefusal, nowMs: number) => void;
  /** The quotas that keep these pods waiting: specs of pods for which the product has found no place. */
  readonly shortages: (waiting: Iterable<PodSpec>, nowMs: number) => ReadonlyArray<QuotaShortage>;
}

/** Makes a watch. It asks the double and never Azure, and changes nothing. */
export function watchQuota({ azure, sizes, settings, pools, classes }: QuotaWatchOptions): QuotaWatch {
  const skus = toSkus(azure.skus(), sizes, settings.location);
  const skuOf = new Map(skus.map((sku) => [sku.name, sku]));
  const refusals = createQuotaRefusals(skuOf);
  const typesOf = (nodeClass: NodeClass): ReadonlyArray<InstanceType> =>
    toInstanceTypes(skus, nodeClass, settings, () => false);
  const isSoldOut = ({ sku, zone, capacityType }: PossibleMachine): boolean => {
    const ownZone = zone === REGIONAL ? null : (zone.split('-').at(-1) ?? null);
    return azure.isFull({ size: sku.name, zone: ownZone, capacityType });
  };
  return {
    tell: refusals.tell,
    shortages: (waiting, nowMs) => {
      const groups = groupAlike(waiting);
      if (groups.length === 0) return [];
      const known = new Map<string, ReadonlyArray<InstanceType>>();
      const typesOnce = (nodeClass: NodeClass): ReadonlyArray<InstanceType> => {
        const types = known.get(nodeClass.metadata.name) ?? typesOf(nodeClass);
        known.set(nodeClass.metadata.name, types);
        return types;
      };
      const view = { pools: [...pools()], classes: classes() };
      const kinds = groups.map(({ spec, pods }): WaitingPods => {
        const machines = possibleMachines(spec, view, skuOf, typesOnce).filter((one) => !isSoldOut(one));
        return { pods, machines };
      });
      const refusedFor = (machine: PossibleMachine): string | null => refusals.reasonFor(machine, nowMs);
      return findShortages(kinds, { usages: azure.usages(), refusedFor });
    },
  };
}

/** The zone label of a VM without a zone. */
const REGIONAL = '0';

/** Pods whose machines are the same. */
function groupAlike(specs: Iterable<PodSpec>): ReadonlyArray<{ readonly spec: PodSpec; readonly pods: number }> {
  const groups = new Map<string, { readonly spec: PodSpec; readonly pods: number }>();
  for (const spec of specs) {
    const { nodeSelector, affinity, tolerations } = spec;
    const key = JSON.stringify([nodeSelector, affinity?.nodeAffinity, tolerations, [...podRequests(spec)]]);
    groups.set(key, { spec, pods: (groups.get(key)?.pods ?? 0) + 1 });
  }
  return [...groups.values()];
}
