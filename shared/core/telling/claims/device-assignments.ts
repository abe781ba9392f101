import type { HeldDevice } from '../../devices/use.ts';
import type { DeviceAssignment, PlannedClaim } from '../../model/plan.ts';
import type { Holding } from '../../placing/state/device-state.ts';
import { allotmentFor } from '../../placing/one-by-one/devices-on-claims.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import type { OpenClaim } from '../../placing/state/open-claim.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/**
 * The devices that the plan counts on, by claim. `planned` are the workspace's claims as they were rendered, in order.
 */
export function deviceAssignments(
  { devices, claims }: Workspace,
  planned: ReadonlyArray<PlannedClaim>,
): ReadonlyArray<DeviceAssignment> {
  if (devices === null) return [];
  return [...devices.holdings]
    .filter(([, { isPlanned, pods }]) => isPlanned && pods.size > 0)
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .flatMap(([claim, holding]): ReadonlyArray<DeviceAssignment> => {
      const { place, pods: users } = holding;
      const pods = [...users].toSorted(byCodeUnit);
      if (!isOpenClaim(place)) {
        return [{ claim, pods, instanceTypes: null, devices: holding.devices.map(toAssigned) }];
      }
      const rendered = planned[claims.indexOf(place)];
      const types = [rendered?.offering, ...(rendered?.fallbacks ?? [])].flatMap((one) => one?.instanceType ?? []);
      const assignedOn = (type: string): DeviceAssignment['devices'] =>
        (allotmentFor(devices, place, indexOfType(place, type)).get(claim) ?? []).map(toAssigned);
      const byDevices = Map.groupBy(new Set(types), (type) => JSON.stringify(assignedOn(type)));
      return [...byDevices.values()].map((instanceTypes) => {
        const [first = ''] = instanceTypes;
        return { claim, pods, instanceTypes, devices: assignedOn(first) };
      });
    });
}

/** The drivers whose devices a claim's own node must publish for its pods, by name. */
export function driversNeeded({ devices }: Workspace, claim: OpenClaim): ReadonlyArray<string> {
  if (devices === null || claim.chosen === null) return [];
  const held = [...allotmentFor(devices, claim, claim.chosen.type).values()].flat();
  const own = held.filter(({ device }) => device.reach.kind === 'itself').map(({ device }) => device.driver);
  return [...new Set(own)].toSorted(byCodeUnit);
}

function isOpenClaim(place: Holding['place']): place is OpenClaim {
  return place !== null && 'chosen' in place;
}

function indexOfType({ state }: OpenClaim, name: string): number {
  return state.pool.catalog.types.findIndex((type) => type.name === name);
}

function toAssigned({ device, request }: HeldDevice): DeviceAssignment['devices'][number] {
  return { request, driver: device.driver, pool: device.pool, device: device.published.name };
}
