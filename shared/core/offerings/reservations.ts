import type { Catalog, InstanceType, Offering } from '../model/catalog.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { CompiledCatalog } from './compile-types.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/**
 * The catalog with what is left of its capacity reservations: those used up, or all while the gate is closed, are not
 * available.
 */
export function reservedCatalog(input: ProvisioningInput): Catalog {
  const { catalog, policy } = input;
  if (![...catalog.values()].some((types) => types.some(hasReserved))) return catalog;
  const left = policy.gates.reservedCapacity ? nodesLeft(input) : new Map<string, number>();
  const known = new Map<ReadonlyArray<InstanceType>, ReadonlyArray<InstanceType>>();
  return new Map(
    [...catalog].map(([pool, types]) => {
      const counted = known.get(types) ?? types.map((type) => withLeft(type, left));
      known.set(types, counted);
      return [pool, counted];
    }),
  );
}

function hasReserved({ offerings }: InstanceType): boolean {
  return offerings.some(({ reservation }) => reservation !== undefined);
}

function withLeft(type: InstanceType, left: ReadonlyMap<string, number>): InstanceType {
  if (!hasReserved(type)) return type;
  const offerings = type.offerings.map((offering): Offering => {
    const { reservation } = offering;
    if (reservation === undefined) return offering;
    const remaining = left.get(reservation.id) ?? 0;
    return { ...offering, available: offering.available && remaining > 0, reservation: { ...reservation, remaining } };
  });
  return { ...type, offerings };
}

/**
 * By reservation: how many more nodes it holds. Where lists differ the least counts, as in Karpenter; claims that no
 * machine has been made for yet are not in the cloud's count, and are taken off.
 */
function nodesLeft({ catalog, cluster }: ProvisioningInput): ReadonlyMap<string, number> {
  const left = new Map<string, number>();
  for (const type of new Set([...catalog.values()].flat())) {
    for (const { reservation } of type.offerings) {
      if (reservation === undefined) continue;
      left.set(reservation.id, Math.min(left.get(reservation.id) ?? Infinity, reservation.remaining));
    }
  }
  for (const { metadata, spec, status } of cluster.nodeClaims) {
    if (status?.providerID !== undefined || metadata.deletionTimestamp !== undefined) continue;
    const ids = spec.requirements.find(({ key }) => key === labelKey.reservation)?.values ?? [];
    for (const id of ids) left.set(id, (left.get(id) ?? 0) - 1);
  }
  return left;
}

/** How many more nodes each reservation holds while a plan takes from them, by id. Shared by all pools of a plan. */
export type ReservationsLeft = Map<string, number>;

/** What the compiled catalogs say is left. */
export function reservationsLeft(catalogs: Iterable<CompiledCatalog>): ReservationsLeft {
  const left: ReservationsLeft = new Map();
  for (const { reservations } of catalogs) for (const [id, remaining] of reservations) left.set(id, remaining);
  return left;
}

/** The bits of offerings that are not of a reservation, or of one that has room, or of the one called `own`. */
export function bitsWithRoom(catalog: CompiledCatalog, left: ReservationsLeft, own: string | null): number {
  if (catalog.reservedBits === 0) return -1;
  let bits = ~catalog.reservedBits;
  catalog.markets.forEach(({ reservation }, bit) => {
    if (reservation !== null && (reservation === own || (left.get(reservation) ?? 0) > 0)) bits |= 1 << bit;
  });
  return bits;
}

/** Moves one node from a reservation to another; null for none. */
export function moveReservation(left: ReservationsLeft, from: string | null, to: string | null): void {
  if (from === to) return;
  if (from !== null) left.set(from, (left.get(from) ?? 0) + 1);
  if (to !== null) left.set(to, (left.get(to) ?? 0) - 1);
}
