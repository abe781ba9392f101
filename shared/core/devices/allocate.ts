import { tolerates } from '../rules/taints.ts';
import type { Alternative, ClaimTerms } from './claims.ts';
import { admitsDevice, attributeOf } from './constraints.ts';
import { consumption } from './consume.ts';
import type { Device, DevicePool } from './devices.ts';
import type { Verdict } from '../model/device-selector.ts';
import type { Matcher } from './selectors.ts';
import { giveBack, take, useAmong, type DeviceUse, type HeldDevice } from './use.ts';

/** Kubernetes' bound on the devices of one claim (AllocationResultsMaxSize). */
const DEVICES_PER_CLAIM_MAX = 32;

/**
 * Devices looked at for the claims of one pod on one node: some milliseconds. Sixteen devices of a kind with sixteen
 * requests for one each take 300; only contrived constraints take more.
 */
export const TRIES_MAX = 20_000;

/** The devices of each claim, in the claims' order, or why there are none. */
export type Allocation =
  | { readonly kind: 'allocated'; readonly claims: ReadonlyArray<ReadonlyArray<HeldDevice>> }
  /** No choice of devices satisfies all claims together. */
  | { readonly kind: 'unsatisfiable' }
  /** None was found within the bound on tries. */
  | { readonly kind: 'too-many-choices' }
  | { readonly kind: 'selector-error'; readonly detail: string };

/** Where devices are looked for, and what of them is taken. */
export interface DevicePlace {
  readonly pools: ReadonlyArray<DevicePool>;
  readonly use: DeviceUse;
}

interface Attempt {
  readonly place: DevicePlace;
  readonly matcher: Matcher;
  readonly claims: ReadonlyArray<ClaimTerms>;
  readonly devices: ReadonlyArray<Device>;
  readonly totals: ReadonlyMap<string, number>;
  /** What was taken before, and what this attempt takes. */
  readonly use: DeviceUse;
  readonly held: ReadonlyArray<Array<HeldDevice>>;
  readonly signatures: Map<Device, string>;
  tries: number;
  error: string | null;
}

/**
 * Finds devices for all claims together: the first choice in the order of pools, slices and devices, as kube-scheduler
 * does, so that drivers' naming decides between equals. Exhaustive up to `stepsMax`, but for choices that differ only
 * in devices which nothing that is asked can tell apart.
 */
export function allocate(
  claims: ReadonlyArray<ClaimTerms>,
  place: DevicePlace,
  matcher: Matcher,
  triesMax = TRIES_MAX,
): Allocation {
  const usable = place.pools.filter(({ state }) => state === 'whole');
  const devices = usable.flatMap((pool) => pool.devices);
  const totals = new Map(usable.flatMap(({ counters }) => [...counters]));
  const attempt: Attempt = {
    place,
    matcher,
    claims,
    devices,
    totals,
    use: useAmong(place.use, devices, totals.keys()),
    held: claims.map(() => []),
    signatures: new Map(),
    tries: triesMax,
    error: null,
  };
  const found = fillRequest(attempt, 0, 0);
  if (attempt.error !== null) return { kind: 'selector-error', detail: attempt.error };
  if (found) return { kind: 'allocated', claims: attempt.held.map((held) => [...held]) };
  return attempt.tries < 0 ? { kind: 'too-many-choices' } : { kind: 'unsatisfiable' };
}

/** Satisfies this request and all that follow it. */
function fillRequest(attempt: Attempt, claim: number, index: number): boolean {
  const terms = attempt.claims[claim];
  if (terms === undefined) return true;
  const request = terms.requests[index];
  if (request === undefined) return fillRequest(attempt, claim + 1, 0);
  return request.alternatives.some((asked) =>
    asked.count === 'all'
      ? fillAll(attempt, { claim, index, asked })
      : fillCount(attempt, { claim, index, asked }, asked.count, 0),
  );
}

interface Slot {
  readonly claim: number;
  readonly index: number;
  readonly asked: Alternative;
}

/** Every device that matches, at least one; the order does not matter, so there is one choice. */
function fillAll(attempt: Attempt, slot: Slot): boolean {
  if (attempt.place.pools.some(({ state }) => state !== 'whole')) return false;
  const { asked } = slot;
  const wanted = attempt.devices.filter(
    (device) => matches(attempt, asked, device) && hasShare(attempt, asked, device),
  );
  const held = attempt.held[slot.claim] ?? [];
  if (wanted.length === 0 || held.length + wanted.length > DEVICES_PER_CLAIM_MAX) return false;
  const taken: Array<HeldDevice> = [];
  for (const device of wanted) {
    const one = hold(attempt, slot, device);
    if (one === null) break;
    taken.push(one);
  }
  if (taken.length === wanted.length && fillRequest(attempt, slot.claim, slot.index + 1)) return true;
  for (const one of taken.toReversed()) release(attempt, slot, one);
  return false;
}

/** `count` devices from the one at `from` on: combinations, since their order within a request does not matter. */
function fillCount(attempt: Attempt, slot: Slot, count: number, from: number): boolean {
  if (count === 0) return fillRequest(attempt, slot.claim, slot.index + 1);
  const held = attempt.held[slot.claim] ?? [];
  if (held.length + count > DEVICES_PER_CLAIM_MAX) return false;
  const failed = new Set<string>();
  for (let at = from; at < attempt.devices.length; at++) {
    const device = attempt.devices[at];
    if (device === undefined || !isCandidate(attempt, slot.asked, device)) continue;
    if (--attempt.tries < 0 || attempt.error !== null) return false;
    const isFresh = isUntouched(attempt, device);
    if (failed.size > 0 && isFresh && failed.has(signatureOf(attempt, device))) continue;
    const one = hold(attempt, slot, device);
    if (one === null) continue;
    if (fillCount(attempt, slot, count - 1, at + 1)) return true;
    release(attempt, slot, one);
    if (isFresh) failed.add(signatureOf(attempt, device));
  }
  return false;
}

/** Whether somebody has the device is the cheaper question. */
function isCandidate(attempt: Attempt, asked: Alternative, device: Device): boolean {
  return (asked.admin || !attempt.use.whole.has(device.id)) && matches(attempt, asked, device);
}

function matches(attempt: Attempt, asked: Alternative, device: Device): boolean {
  const verdict = takes(attempt.matcher, asked, device);
  if (typeof verdict === 'boolean') return verdict;
  attempt.error ??= verdict.error;
  return false;
}

/** Do the selectors of the request and of its class take the device? */
export function takes(matcher: Matcher, { selectors }: Alternative, device: Device): Verdict {
  for (const { expression, origin } of selectors) {
    const verdict = matcher.takes(expression, device.id, { driver: device.driver, device: device.published });
    if (verdict === false) return false;
    if (verdict !== true) {
      return { error: `the selector of ${origin} cannot be evaluated for device ${device.id}: ${verdict.error}` };
    }
  }
  return true;
}

/** Devices without room for the share are not among `all`; those that somebody holds whole are, and cannot be had. */
function hasShare({ place }: Attempt, { capacity }: Alternative, device: Device): boolean {
  const consumed = consumption(device, capacity);
  return consumed !== null && hasCapacity(place.use, device, consumed);
}

/** Takes the device for the request if nothing forbids it. */
function hold(attempt: Attempt, { claim, asked }: Slot, device: Device): HeldDevice | null {
  const held = attempt.held[claim] ?? [];
  const { use } = attempt;
  if (isHeld(attempt, held, asked, device) || isTainted(asked, device)) return null;
  const consumed = consumption(device, asked.capacity);
  if (consumed === null || !hasCapacity(use, device, consumed) || !hasCounters(attempt, device)) return null;
  const constraints = attempt.claims[claim]?.constraints ?? [];
  if (!admitsDevice(constraints, held, device, asked.name)) return null;
  const one = { device, request: asked.name, admin: asked.admin, consumed: device.shareable ? consumed : null };
  held.push(one);
  take(use, one);
  return one;
}

function release(attempt: Attempt, { claim }: Slot, one: HeldDevice): void {
  attempt.held[claim]?.pop();
  giveBack(attempt.use, one);
}

/** Administrative access is kept out by the same claim only, all other by whoever has the device. */
function isHeld(attempt: Attempt, held: ReadonlyArray<HeldDevice>, { admin }: Alternative, device: Device): boolean {
  if (admin) return !device.shareable && held.some((one) => one.device === device);
  return attempt.use.whole.has(device.id) || isWatched(attempt, device);
}

/** Within one pod, kube-scheduler gives nobody a device that another of its claims holds for administration. */
function isWatched({ held }: Attempt, device: Device): boolean {
  return !device.shareable && held.some((own) => own.some((one) => one.admin && one.device === device));
}

function isTainted({ tolerations }: Alternative, { taints }: Device): boolean {
  return taints.some((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}

function hasCapacity(use: DeviceUse, { id, capacities }: Device, more: ReadonlyMap<string, number>): boolean {
  const consumed = use.shared.get(id)?.consumed ?? new Map<string, number>();
  return [...capacities].every(([name, { value }]) => (consumed.get(name) ?? 0) + (more.get(name) ?? 0) <= value);
}

/** A device that is shared already has its counters. */
function hasCounters({ use, totals }: Attempt, { id, counters }: Device): boolean {
  if (use.shared.has(id)) return true;
  return [...counters].every(([name, amount]) => (use.counters.get(name) ?? 0) + amount <= (totals.get(name) ?? 0));
}

function isUntouched({ held }: Attempt, device: Device): boolean {
  return !held.some((own) => own.some((one) => one.device === device));
}

/**
 * All that the search can see of a device: two with one signature that nobody holds yet can stand in for each other.
 */
function signatureOf(attempt: Attempt, device: Device): string {
  const known = attempt.signatures.get(device);
  if (known !== undefined) return known;
  const asked = attempt.claims.flatMap(({ requests }) => requests.flatMap(({ alternatives }) => alternatives));
  const attributes = attempt.claims.flatMap(({ constraints }) => constraints.map(({ attribute }) => attribute));
  const signature = JSON.stringify([
    asked.map((one) => takes(attempt.matcher, one, device)),
    attributes.map((name) => [...(attributeOf(device, name) ?? ['-'])].toSorted()),
    [...device.capacities].toSorted(byName),
    [...device.counters].toSorted(byName),
    device.taints,
    device.shareable,
    attempt.place.use.whole.has(device.id),
    [...(attempt.place.use.shared.get(device.id)?.consumed ?? [])].toSorted(byName),
  ]);
  attempt.signatures.set(device, signature);
  return signature;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
