import { meetsNeed, hasRoom, type Bin } from './bins.ts';
import type { Need } from './compile-shape.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Applicant } from './joining.ts';
import { allowsDomain, allowsHost, type Guard } from './topology-guard.ts';
import type { Workspace } from './workspace.ts';

/**
 * Bins that may still have room for a need and are alike to its topology rules, hosts aside: one answer is for all of them. In
 * order, by their place among all bins; those found full are dropped for good.
 */
export interface RoomyLane {
  readonly labels: Bin['capacity']['labels'];
  readonly places: Array<number>;
}

/** The first bin in order that has room for a pod of the need and that the rules let it onto; null where there is none. */
export function firstRoomyBin(workspace: Workspace, { need, guard }: Applicant): Bin | null {
  const lanes = workspace.roomy.get(need) ?? lanesFor(workspace, need, guard);
  workspace.roomy.set(need, lanes);
  let first = Infinity;
  for (const { labels, places } of lanes) {
    if (!guard.rules.keys.every((key) => allowsDomain(guard, key, labels[key]))) continue;
    first = Math.min(first, firstIn(workspace, places, { need, guard }, first));
  }
  return workspace.bins[first] ?? null;
}

function lanesFor({ bins }: Workspace, need: Need, { rules }: Guard): ReadonlyArray<RoomyLane> {
  const lanes = new Map<string, RoomyLane>();
  bins.forEach((bin, place) => {
    if (!meetsNeed(bin, need)) return;
    const { labels } = bin.capacity;
    const id = JSON.stringify(rules.keys.map((key) => labels[key] ?? null));
    const lane = lanes.get(id) ?? { labels, places: [] };
    lanes.set(id, lane);
    lane.places.push(place);
  });
  return [...lanes.values()];
}

/** The place of the first that will do, if it is before `end`; else that or a later place. */
function firstIn({ bins }: Workspace, places: Array<number>, { need, guard }: Applicant, end: number): number {
  let [kept, next] = [0, 0];
  for (; next < places.length; next++) {
    const place = places[next] ?? end;
    const bin = bins[place];
    if (place >= end) break;
    if (bin === undefined || !hasRoom(bin, need.shape)) continue;
    if (allowsHost(guard, bin.capacity.labels[labelKey.hostname] ?? '')) break;
    places[kept++] = place;
  }
  if (next > kept) places.splice(kept, next - kept);
  return places[kept] ?? Infinity;
}
