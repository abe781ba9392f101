import { namesRegional, zonalOnly } from '../../shared/core/rules/placement-scope.ts';
import { toInstanceTypes } from '../../shared/adapters/azure/catalog/instance-types.ts';
import { inspect } from '../../shared/contract/api/parse.ts';
import { aksNodeClassKind } from '../../shared/contract/api/kinds/aks-node-class.ts';
import type { Snapshot } from '../../shared/contract/snapshot/parse.ts';
import { NO_TEMPLATES, type DeviceTemplates } from '../../shared/core/model/device-templates.ts';
import type { Catalog, InstanceType } from '../../shared/core/model/catalog.ts';
import type { NodeClass } from '../../shared/ports/kubernetes.ts';
import { clusterNameOf } from './cluster-name.ts';
import type { GivenCatalog } from './read-catalog.ts';
import type { ShippedSizes } from './shipped-sizes.ts';

/** The instance types of each pool, and what had to be assumed. */
export interface PoolCatalogs {
  readonly catalog: Catalog;
  /** What is stated there of the devices of nodes. */
  readonly templates: DeviceTemplates;
  readonly notes: ReadonlyArray<string>;
}

/** AKS with Azure CNI overlay, the default of new clusters, and Karpenter's default for memory that VMs do not show. */
const SETTINGS = {
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  memoryOverhead: 0.075,
};

/** Every pool may use all types of a catalog: what its node class would make of a size is in the catalog already. */
export function catalogsFrom({ instanceTypes, resourceSlices }: GivenCatalog, { nodePools }: Snapshot): PoolCatalogs {
  return {
    catalog: new Map(nodePools.map(({ metadata }) => [metadata.name, instanceTypes])),
    templates: new Map(nodePools.map(({ metadata }) => [metadata.name, resourceSlices])),
    notes: [],
  };
}

/** What each pool's node class makes of the shipped sizes. A class that was not given is taken to have its defaults. */
export function catalogsOf({ skus, region }: ShippedSizes, snapshot: Snapshot): PoolCatalogs {
  const { nodePools, nodeClasses } = snapshot;
  const cluster = clusterNameOf(snapshot);
  const settings = { ...SETTINGS, location: region, nodeResourceGroup: cluster.name };
  const classes = new Map(nodeClasses.map((one) => [one.metadata.name, one as NodeClass]));
  const lists = new Map<string, ReadonlyArray<InstanceType>>();
  const assumed = new Set<string>();
  const typesOf = (name: string): ReadonlyArray<InstanceType> => {
    const known = lists.get(name);
    if (known !== undefined) return known;
    const given = classes.get(name);
    if (given === undefined) assumed.add(name);
    const types = toInstanceTypes(skus, given ?? defaultClass(name), settings, () => false);
    lists.set(name, types);
    return types;
  };
  // Pools of one class share one list, so that it is looked through once.
  const narrowed = new Map<ReadonlyArray<InstanceType>, ReadonlyArray<InstanceType>>();
  const zonal = (types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> => {
    const list = narrowed.get(types) ?? zonalOnly(types);
    narrowed.set(types, list);
    return list;
  };
  const catalog = new Map(
    nodePools.map((pool) => {
      const types = typesOf(pool.spec.template.spec.nodeClassRef.name);
      return [pool.metadata.name, namesRegional(pool) ? types : zonal(types)];
    }),
  );
  const notes = [...assumed].map((name) => `AKSNodeClass ${name} is not given: one with default settings is assumed`);
  return { catalog, templates: NO_TEMPLATES, notes: [...notes, ...cluster.notes] };
}

/** The class that an empty manifest of this name would be. */
export function defaultClass(name: string): NodeClass {
  const { object } = inspect(aksNodeClassKind, {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name },
    spec: {},
  });
  return object as unknown as NodeClass;
}
