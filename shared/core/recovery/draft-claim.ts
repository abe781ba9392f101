import { MIN_VALUES_RELAXED, type PlannedClaim, type PlannedOffering } from '../model/plan.ts';
import { labelKey, normalizeKey } from '../../kubernetes/labels.ts';
import type { NodePool, Requirement } from '../../kubernetes/manifest.ts';

/** A claim of the pool for nobody yet, launched as this offering alone. */
export function draftClaim(
  pool: NodePool,
  offering: PlannedOffering,
  labels: Readonly<Record<string, string>>,
): PlannedClaim {
  const { metadata, spec } = pool.spec.template;
  const hasMinValues = spec.requirements.some(({ minValues }) => minValues !== undefined);
  const draft: PlannedClaim = {
    nodePool: pool.metadata.name,
    offering,
    fallbacks: [],
    runnerUp: null,
    cheaper: [],
    requirements: [],
    labels,
    annotations: {
      ...metadata?.annotations,
      ...(hasMinValues ? { [MIN_VALUES_RELAXED]: 'false' } : {}),
    },
    taints: spec.taints ?? [],
    startupTaints: spec.startupTaints ?? [],
    requests: {},
    pods: [],
  };
  return withOfferings(pool, draft, []);
}

/** The claim with what else it may be launched as, and the requirements that say so. */
export function withOfferings(
  pool: NodePool,
  claim: PlannedClaim,
  fallbacks: ReadonlyArray<PlannedOffering>,
): PlannedClaim {
  const all = [claim.offering, ...fallbacks];
  const own = pool.spec.template.spec.requirements;
  const minValuesOf = (key: string): Pick<Requirement, 'minValues'> => {
    const asked = own.flatMap((one) => (normalizeKey(one.key) === key ? (one.minValues ?? []) : []));
    return asked.length === 0 ? {} : { minValues: Math.max(...asked) };
  };
  const among = (key: string, values: ReadonlyArray<string>): Requirement => ({
    key,
    operator: 'In',
    values: [...new Set(values)].toSorted(),
    ...minValuesOf(key),
  });
  const chosen = [
    among(
      labelKey.instanceType,
      all.map(({ instanceType }) => instanceType),
    ),
    among(
      labelKey.zone,
      all.map(({ zone }) => zone),
    ),
    among(
      labelKey.capacityType,
      all.map(({ capacityType }) => capacityType),
    ),
    among(labelKey.nodePool, [pool.metadata.name]),
  ];
  const keys = new Set<string>(chosen.map(({ key }) => key));
  const others = own.map((one) => ({ ...one, key: normalizeKey(one.key) })).filter(({ key }) => !keys.has(key));
  return { ...claim, fallbacks, requirements: [...others, ...chosen] };
}
