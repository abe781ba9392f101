import type { Quota } from '../azure/state/options.ts';
import { type Assignment, repeatedNames, unknownName } from './assignment.ts';

/** Azure's names of what is no family's, and where the double keeps them. */
const REGIONAL = {
  cores: 'totalRegionalCores',
  lowPriorityCores: 'lowPriorityCores',
  virtualMachines: 'virtualMachines',
} as const satisfies Readonly<Record<string, keyof Quota>>;

/** The sandbox's own word: the limit of every family that is not named. */
const EVERY_FAMILY = 'familyCores';

/** All families are too many to list. */
const HOW_NAMED = `write ${Object.keys(REGIONAL).join(', ')}, ${EVERY_FAMILY} or a family as Azure calls it, such as standardDSv5Family`;

const LIMIT_MAX = 1_000_000_000;

/** Quota as it was asked for, and what is wrong with what could not be taken. */
export interface ReadQuota {
  readonly quota: Quota;
  readonly problems: ReadonlyArray<string>;
}

/**
 * Puts limits over `base`. Names are those of Azure's usage list, in any case: `cores`, `lowPriorityCores`,
 * `virtualMachines` or one of `families`; and `familyCores` for all other families. Never throws.
 */
export function readQuotaLimits(
  given: ReadonlyArray<Assignment>,
  base: Quota,
  families: ReadonlyArray<string>,
): ReadQuota {
  const names = [...Object.keys(REGIONAL), EVERY_FAMILY, ...families];
  let quota = base;
  const problems = [...repeatedNames(given, { ignoresCase: true })];
  for (const one of given) {
    const name = names.find((known) => known.toLowerCase() === one.name.toLowerCase());
    const limit = Number(one.value);
    if (name === undefined) problems.push(unknownName(one, 'quota', names, HOW_NAMED));
    else if (!/^\d+$/.test(one.value) || limit > LIMIT_MAX) {
      problems.push(`${one.field} must be a whole number from 0 to ${LIMIT_MAX}, not ${one.value || 'nothing'}`);
    } else quota = withLimit(quota, name, limit);
  }
  return { quota, problems };
}

function withLimit(quota: Quota, name: string, limit: number): Quota {
  if (name === EVERY_FAMILY) return { ...quota, familyCores: limit };
  if (isRegional(name)) return { ...quota, [REGIONAL[name]]: limit };
  return { ...quota, families: { ...quota.families, [name]: limit } };
}

function isRegional(name: string): name is keyof typeof REGIONAL {
  return Object.hasOwn(REGIONAL, name);
}
