import { ArmError, notFound, parentResourceNotFound, resourceNotFound } from '../arm/arm-error.ts';
import { groupAndName, type Cloud } from '../state/cloud.ts';
import { deleteExtension, putExtension } from '../machines/extensions.ts';
import { evictVm } from '../machines/eviction.ts';
import { objectAt } from '../arm/json.ts';
import { deleteVm, findVm, patchVm, putVm } from '../machines/machines.ts';
import type { Written } from '../machines/network.ts';
import { page } from '../arm/pages.ts';
import { renderInstanceView } from '../machines/render-instance-view.ts';
import { renderDisk, renderExtension, renderListedVm, renderVm } from '../machines/render-vm.ts';
import type { Extension, Vm } from '../arm/resources.ts';
import { ok, withEtag, type ArmRequest, type ArmResponse, type Route } from '../arm/router.ts';
import { refuseMisfits } from '../types/refuse-misfits.ts';
import { typeTrees } from '../types/type-trees.ts';
import { accepted, conditionsOf, vmWait, written } from './operations.ts';

const SUBSCRIPTION = '/subscriptions/{subscription}';
const GROUP = `${SUBSCRIPTION}/resourceGroups/{group}`;
const VM = `${GROUP}/providers/Microsoft.Compute/virtualMachines/{name}`;
const VM_TYPE = 'Microsoft.Compute/virtualMachines';
const DISK_TYPE = 'Microsoft.Compute/disks';
const DISK = `${GROUP}/providers/Microsoft.Compute/disks/{name}`;

/** VMs, their extensions and their disks. */
export function computeRoutes(cloud: Cloud): ReadonlyArray<Route> {
  return [...vmRoutes(cloud), ...extensionRoutes(cloud), ...diskRoutes(cloud)];
}

function vmRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const list = (request: ArmRequest, group: string | null): ArmResponse => {
    const expand = isInstanceViewAsked(request);
    const vms = [...cloud.vms.values()].filter(
      (vm) => group === null || vm.group.toLowerCase() === group.toLowerCase(),
    );
    return page(
      request,
      vms.map((vm) => renderListedVm(cloud, vm, expand)),
      cloud.options.pageSize,
    );
  };
  const answer = (request: ArmRequest, { created, operation, resource }: Written<Vm>): ArmResponse => {
    const shown = renderVm(cloud, resource, false);
    // A change that is over before it is answered is shown as it was a moment ago.
    const wasUpdating = operation === null && resource.provisioningState === 'Succeeded';
    const body = wasUpdating
      ? { ...shown, properties: { ...objectAt(shown, 'properties'), provisioningState: 'Updating' } }
      : shown;
    return withEtag(
      written(cloud, request, { created, follow: follow(operation, created ? vmWait(cloud) : null), body }),
    );
  };
  return [
    {
      method: 'PUT',
      pattern: VM,
      answer: (request, { group = '', name = '' }) =>
        answer(
          request,
          putVm(cloud, { group, name }, refuseMisfits(typeTrees().vm, request.body, 'put'), conditionsOf(request)),
        ),
    },
    {
      method: 'PATCH',
      pattern: VM,
      answer: (request, { group = '', name = '' }) =>
        answer(request, patchVm(cloud, group, name, refuseMisfits(typeTrees().vmPatch, request.body, 'patch'))),
    },
    {
      method: 'GET',
      pattern: VM,
      answer: (request, { group = '', name = '' }) =>
        withEtag(ok(renderVm(cloud, findVm(cloud, group, name), isInstanceViewAsked(request)))),
    },
    {
      method: 'DELETE',
      pattern: VM,
      answer: (request, { group = '', name = '' }) =>
        accepted(cloud, request, follow(deleteVm(cloud, group, name), vmWait(cloud))),
    },
    {
      method: 'GET',
      pattern: `${VM}/instanceView`,
      answer: (_request, { group = '', name = '' }) => ok(renderInstanceView(findVm(cloud, group, name))),
    },
    {
      method: 'POST',
      pattern: `${VM}/simulateEviction`,
      answer: (_request, { group = '', name = '' }) => {
        evictVm(cloud, findVm(cloud, group, name), cloud.options.evictionNoticeSeconds);
        return { status: 204, headers: {}, body: null };
      },
    },
    {
      method: 'GET',
      pattern: `${GROUP}/providers/Microsoft.Compute/virtualMachines`,
      answer: (request, { group = '' }) => list(request, group),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Compute/virtualMachines`,
      answer: (request) => list(request, null),
    },
    {
      method: 'GET',
      pattern: `${SUBSCRIPTION}/providers/Microsoft.Compute/locations/{location}/virtualMachines`,
      answer: (request) => list(request, null),
    },
  ];
}

/** What is to be followed of Compute's. */
function follow(operation: string | null, retryAfterSeconds: number | null): Parameters<typeof accepted>[2] {
  return operation === null ? null : { provider: 'Microsoft.Compute', id: operation, retryAfterSeconds };
}

function extensionRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const parent = (group: string, name: string): Vm => {
    const vm = cloud.vms.get(groupAndName(group, name));
    if (vm === undefined) throw parentResourceNotFound(group, name);
    return vm;
  };
  const find = (vm: Vm, name: string): Extension => {
    const extension = vm.extensions.get(name.toLowerCase());
    if (extension === undefined) throw resourceNotFound(`${VM_TYPE}/${vm.name}/extensions/${name}`, vm.group);
    return extension;
  };
  const answer = (request: ArmRequest, vm: Vm, { created, operation, resource }: Written<Extension>): ArmResponse =>
    written(cloud, request, { created, follow: follow(operation, null), body: renderExtension(cloud, vm, resource) });
  return [
    {
      method: 'PUT',
      pattern: `${VM}/extensions/{extension}`,
      answer: (request, { group = '', name = '', extension = '' }) => {
        const vm = parent(group, name);
        const body = refuseMisfits(typeTrees().extension, request.body, 'put');
        return answer(request, vm, putExtension(cloud, vm, extension, body));
      },
    },
    {
      method: 'PATCH',
      pattern: `${VM}/extensions/{extension}`,
      answer: (request, { group = '', name = '', extension = '' }) => {
        const vm = parent(group, name);
        const patch = refuseMisfits(typeTrees().extensionPatch, request.body, 'patch');
        const { body } = find(vm, extension);
        const properties = { ...objectAt(body, 'properties'), ...objectAt(patch, 'properties') };
        return answer(request, vm, putExtension(cloud, vm, extension, { ...body, ...patch, properties }));
      },
    },
    {
      method: 'GET',
      pattern: `${VM}/extensions/{extension}`,
      answer: (_request, { group = '', name = '', extension = '' }) => {
        const vm = parent(group, name);
        return ok(renderExtension(cloud, vm, find(vm, extension)));
      },
    },
    {
      method: 'DELETE',
      pattern: `${VM}/extensions/{extension}`,
      answer: (request, { group = '', name = '', extension = '' }) =>
        accepted(cloud, request, follow(deleteExtension(cloud, parent(group, name), extension), null)),
    },
    {
      method: 'GET',
      pattern: `${VM}/extensions`,
      answer: (_request, { group = '', name = '' }) => {
        const vm = parent(group, name);
        return ok({ value: [...vm.extensions.values()].map((extension) => renderExtension(cloud, vm, extension)) });
      },
    },
  ];
}

function diskRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const list = (request: ArmRequest): ArmResponse =>
    page(
      request,
      [...cloud.disks.values()].map((disk) => renderDisk(cloud, disk)),
      cloud.options.pageSize,
    );
  return [
    {
      method: 'GET',
      pattern: DISK,
      answer: (_request, { group = '', name = '' }) => {
        const disk = cloud.disks.get(groupAndName(group, name));
        if (disk !== undefined) return ok(renderDisk(cloud, disk));
        if (cloud.known.has(cloud.idOf(DISK_TYPE, group, name).toLowerCase()))
          throw notFound(`Disk ${name} is not found.`);
        throw resourceNotFound(`${DISK_TYPE}/${name}`, group);
      },
    },
    {
      method: 'DELETE',
      pattern: DISK,
      answer: (request, { group = '', name = '' }) => {
        const disk = cloud.disks.get(groupAndName(group, name));
        if (disk === undefined) return { status: 204, headers: {}, body: null };
        if (disk.managedBy !== null)
          throw new ArmError(409, {
            code: 'OperationNotAllowed',
            message: `Disk ${disk.name} is attached to VM ${disk.managedBy}.`,
          });
        const operation = cloud.operations.start('Microsoft.Compute');
        cloud.disks.delete(groupAndName(group, name));
        cloud.operations.end(operation, { status: 'Succeeded' });
        return accepted(cloud, request, follow(operation, null));
      },
    },
    { method: 'GET', pattern: `${GROUP}/providers/Microsoft.Compute/disks`, answer: list },
    { method: 'GET', pattern: `${SUBSCRIPTION}/providers/Microsoft.Compute/disks`, answer: list },
  ];
}

function isInstanceViewAsked(request: ArmRequest): boolean {
  return (
    request.query.get('$expand')?.toLowerCase().includes('instanceview') === true ||
    request.query.get('statusOnly') === 'true'
  );
}
