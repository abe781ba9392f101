import type { Catalog, InstanceType, Offering } from '../../model/catalog.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { Plan } from '../../model/plan.ts';
import { fatal, type Finding, type Subject } from '../seen/finding.ts';

/** By reservation: the nodes that it can still give, as the audit reads it. Nothing while the gate is closed. */
function roomOf({ catalog, cluster, policy }: ProvisioningInput): ReadonlyMap<string, number> {
  const room = new Map<string, number>();
  for (const types of policy.gates.reservedCapacity ? catalog.values() : []) {
    for (const { reservation } of types.flatMap(({ offerings }) => offerings)) {
      const known = room.get(reservation?.id ?? '');
      if (reservation !== undefined && (known === undefined || known > reservation.remaining)) {
        room.set(reservation.id, reservation.remaining);
      }
    }
  }
  const ordered = cluster.nodeClaims.filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.providerID === undefined,
  );
  for (const { key, values = [] } of ordered.flatMap(({ spec }) => spec.requirements)) {
    for (const id of key === labelKey.reservation ? values : []) room.set(id, (room.get(id) ?? 0) - 1);
  }
  return room;
}

/**
 * The catalog of the audit: an offering of a reservation cannot be had where that is full, or the pool has minValues.
 */
export function auditedReservations(input: ProvisioningInput): Catalog {
  const types = [...input.catalog.values()].flat();
  if (!types.some(({ offerings }) => offerings.some(({ reservation }) => reservation !== undefined))) {
    return input.catalog;
  }
  const room = roomOf(input);
  const choosy = input.cluster.nodePools.filter(({ spec }) =>
    spec.template.spec.requirements.some((requirement) => requirement.minValues !== undefined),
  );
  const without = new Set(choosy.map(({ metadata }) => metadata.name));
  return new Map(
    [...input.catalog].map(([pool, own]) => [pool, own.map((type) => withRoom(type, without.has(pool) ? null : room))]),
  );
}

function withRoom(type: InstanceType, room: ReadonlyMap<string, number> | null): InstanceType {
  const isFull = ({ reservation }: Offering): boolean =>
    reservation !== undefined && (room?.get(reservation.id) ?? 0) <= 0;
  return { ...type, offerings: type.offerings.map((one) => (isFull(one) ? { ...one, available: false } : one)) };
}

/** No reservation gives more nodes than it has, and a claim that counts on one says so and may become nothing else. */
export function checkReservations(plan: Plan, input: ProvisioningInput): ReadonlyArray<Finding> {
  const room = roomOf(input);
  const taken = new Map<string, ReadonlyArray<Subject>>();
  const findings: Array<Finding> = [];
  plan.claims.forEach(({ offering, fallbacks, requirements }, index) => {
    const id = offering.reservationId;
    const about: Subject = { kind: 'planned', index };
    if (fallbacks.some(({ reservationId }) => reservationId !== id)) {
      findings.push(
        fatal('reservation', `planned-${index} may be launched from another reservation than is held`, about),
      );
    }
    if (id === undefined) return;
    taken.set(id, [...(taken.get(id) ?? []), about]);
    const stated = requirements.find(({ key }) => key === labelKey.reservation)?.values ?? [];
    if (stated.length !== 1 || stated[0] !== id) {
      findings.push(fatal('reservation', `planned-${index} does not say that it is of reservation ${id}`, about));
    }
  });
  for (const [id, nodes] of taken) {
    if (nodes.length > (room.get(id) ?? 0))
      findings.push(fatal('reservation', `${id} gives ${nodes.length} of ${room.get(id) ?? 0}`, ...nodes));
  }
  return findings;
}
