import { join } from 'node:path';
import { onlyMembers, readTypeTree, type TypeTree } from './type-tree.ts';

/** The trees of what the double takes and gives. */
export interface TypeTrees {
  readonly vm: TypeTree;
  readonly vmPatch: TypeTree;
  readonly extension: TypeTree;
  readonly extensionPatch: TypeTree;
  /** Its shapes are also subnets, security groups and backend pools. */
  readonly nic: TypeTree;
  readonly nicPatch: TypeTree;
  readonly cluster: TypeTree;
  readonly maintenance: TypeTree;
  readonly resourceGroup: TypeTree;
  readonly roleAssignment: TypeTree;
}

let kept: TypeTrees | null = null;

/** All trees, read at the first question: doubles are started by the hundred in tests. */
export function typeTrees(): TypeTrees {
  kept ??= readAll(join(import.meta.dirname, '../data'));
  return kept;
}

/**
 * A PATCH takes fewer members of the root: `VirtualMachineUpdate`, `VirtualMachineExtensionUpdate` and `TagsObject` of
 * the API.
 */
function readAll(folder: string): TypeTrees {
  const vm = readTypeTree(folder, 'Compute.virtualMachines@2026-04-01');
  const extension = readTypeTree(folder, 'Compute.virtualMachines.extensions@2026-04-01');
  const nic = readTypeTree(folder, 'Network.networkInterfaces@2025-09-01');
  return {
    vm,
    vmPatch: onlyMembers(vm, ['identity', 'plan', 'properties', 'tags', 'zones']),
    extension,
    extensionPatch: onlyMembers(extension, ['properties', 'tags']),
    nic,
    nicPatch: onlyMembers(nic, ['tags']),
    cluster: readTypeTree(folder, 'ContainerService.managedClusters@2026-05-01'),
    maintenance: readTypeTree(folder, 'ContainerService.managedClusters.maintenanceConfigurations@2026-05-01'),
    resourceGroup: readTypeTree(folder, 'Resources.resourceGroups@2025-04-01'),
    roleAssignment: readTypeTree(folder, 'Authorization.roleAssignments@2022-04-01'),
  };
}
