import type { Pod } from '../../model/cluster.ts';
import { meetsNeed, allowsNode, hasRoom } from '../state/existing-nodes.ts';
import type { DeviceState } from '../state/device-state.ts';
import { allotOnNode, bookOnNode } from '../state/device-state.ts';
import { holdOnClaim, offerOn, optionsWithin, sameOutside, type DeviceOffer } from './devices-on-claims.ts';
import { emptyClaim, join, settledValue } from '../state/open-claim.ts';
import { isCheaper, joiningOf } from '../state/joining.ts';
import type { Joining, OpenClaim } from '../state/open-claim.ts';
import type { Applicant } from '../state/joining.ts';
import { addsLess, guardFor, putOnNode, type Queue } from './place.ts';
import { recordOnClaim } from '../state/topology.ts';
import { optionsFor, type Workspace } from '../state/workspace.ts';

/**
 * Puts a pod with resource claims where its devices are: on existing capacity, on a claim of this plan or on a new one;
 * false when nothing has both room and devices. Preferences are given up one by one, as far as needed.
 */
export function placeWithDevices(queue: Queue, pod: Pod, mayStart: boolean): boolean {
  const { workspace } = queue;
  const { devices } = workspace;
  if (devices === null) return false;
  return (workspace.needs.get(pod.shape) ?? []).some((need) => {
    const applicant = { need, guard: guardFor(workspace, need, mayStart) };
    return placeOnExisting(workspace, devices, applicant, pod) || placeOnClaim(queue, devices, applicant, pod);
  });
}

function placeOnExisting(workspace: Workspace, devices: DeviceState, { need, guard }: Applicant, pod: Pod): boolean {
  for (const node of workspace.nodes) {
    if (!meetsNeed(node, need) || !hasRoom(node, need.shape) || !allowsNode(guard, node)) continue;
    const allotment = allotOnNode(devices, node, pod);
    if (allotment === null) continue;
    bookOnNode(devices, node, pod, allotment);
    putOnNode(workspace, node, need, pod);
    return true;
  }
  return false;
}

/** A way to join a claim, with the devices that come with it. */
interface EquippedJoining {
  readonly joining: Joining;
  readonly offer: DeviceOffer;
}

/** What adds least to the price; a claim that is open wins over a new one of the same added price. */
function placeOnClaim(queue: Queue, devices: DeviceState, applicant: Applicant, pod: Pod): boolean {
  const { workspace } = queue;
  const equip = (claim: OpenClaim): EquippedJoining | null => equipped(workspace, devices, { applicant, pod }, claim);
  const joined = bestOf(workspace.claims.map(equip), (a, b) => addsLess(a.joining, b.joining));
  const opened =
    opening(workspace, equip, false) ??
    (joined === null && workspace.input.policy.minValuesPolicy === 'BestEffort'
      ? opening(workspace, equip, true)
      : null);
  const chosen = joined === null || (opened !== null && addsLess(opened.joining, joined.joining)) ? opened : joined;
  if (chosen === null) return false;
  const { claim } = chosen.joining;
  if (chosen === opened) claim.number = workspace.claims.length;
  if (chosen === opened) workspace.claims.push(claim);
  join(chosen.joining, applicant.need.shape, pod);
  queue.changes.push(claim);
  holdOnClaim(devices, claim, pod, chosen.offer);
  recordOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
  return true;
}

/** On the heaviest pools that can take the pod, the cheapest. */
function opening(
  workspace: Workspace,
  equip: (claim: OpenClaim) => EquippedJoining | null,
  minValuesRelaxed: boolean,
): EquippedJoining | null {
  let best: EquippedJoining | null = null;
  for (const state of workspace.pools) {
    if (best !== null && best.joining.claim.state.pool.weight > state.pool.weight) break;
    const found = equip(emptyClaim(state, workspace.dimensions.names.length, minValuesRelaxed));
    if (found !== null && (best === null || isCheaper(found.joining.chosen, best.joining.chosen))) best = found;
  }
  return best;
}

function equipped(
  workspace: Workspace,
  devices: DeviceState,
  { applicant, pod }: { readonly applicant: Applicant; readonly pod: Pod },
  claim: OpenClaim,
): EquippedJoining | null {
  const options = optionsFor(workspace, claim.state, applicant.need);
  if (options.length === 0 || joiningOf(claim, applicant, options) === null) return null;
  const offer = offerOn(devices, claim, pod);
  const first = offer === null ? null : joiningOf(claim, applicant, optionsWithin(devices, options, offer));
  if (offer === null || first === null) return null;
  const settled = sameOutside(devices, claim, offer, first.chosen);
  const joining = joiningOf(claim, applicant, optionsWithin(devices, options, settled));
  return joining === null ? null : { joining, offer: settled };
}

function bestOf<T>(candidates: ReadonlyArray<T | null>, isBetter: (a: T, b: T) => boolean): T | null {
  let best: T | null = null;
  for (const one of candidates) if (one !== null && (best === null || isBetter(one, best))) best = one;
  return best;
}
