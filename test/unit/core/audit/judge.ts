import type { Pod } from '../../../../shared/core/model/cluster.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Nomination, Plan, PlannedClaim, PlannedOffering } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { input, plannedClaim, pods as waitingPods, pool, size, zones } from '../../../kit/core/build.ts';

/** A size of four cores and one of eight, on demand in three zones and as spot. */
export const D4 = size('Standard_D4_v5', 4, 16, 200_000);
export const D8 = size('Standard_D8_v5', 8, 32, 400_000);

/** A plan by hand and the cluster that it is judged in. Costs follow from the claims where nothing else is said. */
export interface Judged {
  readonly cluster?: Parameters<typeof input>[0];
  readonly claims?: ReadonlyArray<PlannedClaim>;
  readonly nominations?: ReadonlyArray<Nomination>;
  readonly left?: ReadonlyArray<Pod>;
  readonly buffers?: Plan['buffers'];
  readonly devices?: Plan['devices'];
  readonly cost?: number;
  readonly lowerBound?: number;
  readonly weighed?: Partial<Plan['weighed']>;
}

/** The waiting pod of the shape that has this number. */
export function waiting(shape = 0, number = 0): Pod {
  const found = waitingPods(shape, number + 1)[number];
  if (found === undefined) throw new Error(`no pod ${number} of shape ${shape}`);
  return found;
}

/** An offering at the price that it has in `size`. */
export function offered(instanceType = D4.name, parts: Partial<PlannedOffering> = {}): PlannedOffering {
  const price = microUsdPerHour(instanceType === D8.name ? 400_000 : 200_000);
  return { instanceType, zone: zones[0], capacityType: 'on-demand', price, ...parts };
}

/** A claim of pool `general` for these pods. */
export function claimFor(pods: ReadonlyArray<Pod>, parts: Partial<PlannedClaim> = {}): PlannedClaim {
  return plannedClaim(offered(), { pods: referencesTo(pods), ...parts });
}

/** These pods go to the node, or to the claim on its way. */
export function onto(name: string, pods: ReadonlyArray<Pod>, kind: 'node' | 'claim' = 'node'): Nomination {
  return { target: { kind, name }, pods: referencesTo(pods) };
}

export function referencesTo(pods: ReadonlyArray<Pod>): PlannedClaim['pods'] {
  return pods.map(({ name, uid }) => ({ name, uid }));
}

/** What the audit finds, rule and text. */
export function judge(given: Judged): ReadonlyArray<string> {
  const { claims = [], nominations = [], left = [], buffers = [], devices = [], weighed = {} } = given;
  const sum = claims.reduce((total, { offering }) => total + offering.price, 0);
  const cost = microUsdPerHour(given.cost ?? sum);
  const lowerBound = microUsdPerHour(given.lowerBound ?? 0);
  const plan: Plan = {
    claims,
    nominations,
    left: referencesTo(left).map((pod) => ({ pod, refusals: [] })),
    buffers,
    devices,
    cost,
    lowerBound,
    weighed: { cost, lowerBound, ...weighed },
  };
  const cluster = input({ types: [D4, D8], nodePools: [pool('general')], ...given.cluster });
  return auditPlan(plan, cluster).map(({ severity, rule, text }) =>
    severity === 'fatal' ? `${rule} ${text}` : `${severity} ${rule} ${text}`,
  );
}

/** A plan that is right, one thing that is changed, and the one finding that follows. */
export type Case = readonly [what: string, sound: Judged, change: Judged, finding: string];

/** The plan with the change; what is changed of the cluster is changed there alone. */
export function changed(sound: Judged, change: Judged): Judged {
  return { ...sound, ...change, cluster: { ...sound.cluster, ...change.cluster } };
}
