import type { NodeOverlay } from './kinds/node-overlay.ts';
import {
  labelKeyMeant,
  normalizedLabels,
  restrictionOf,
  wellKnownLabels,
  wellKnownValues,
} from '../../kubernetes/pool-labels.ts';
import type { NodePool } from './kinds/node-pool.ts';
import { bakeTimeProblems } from './annotations/bake-time.ts';
import { readEvictionCost } from './annotations/eviction-cost.ts';
import { readMoveCost } from './annotations/move-cost.ts';
import { isLabelValue, isQualifiedName } from './schema/object-meta.ts';
import { comparisons, isNonNegativeInteger, type Requirement, type Taint } from './schema/parts.ts';
import { readStatedDevices } from './annotations/stated-devices.ts';
import type { Problem } from './schema/validation-error.ts';

/**
 * What Karpenter checks when it reads a stored object, beyond what its CRD can say. A pool that fails is not Ready
 * (`ValidationSucceeded` False, reason `NodePoolValidationFailed`); an overlay that fails is not applied.
 */

type Report = (path: string, message: string, fix: string) => void;

function collect(judge: (report: Report) => void): ReadonlyArray<Problem> {
  const problems: Array<Problem> = [];
  judge((path, message, fix) => problems.push({ path, message, fix, layer: 'runtime' }));
  return problems;
}

/** Why Karpenter would not use this pool, and what is wrong with an annotation of ours; empty where nothing is. */
export function nodePoolRuntimeProblems(pool: Pick<NodePool, 'metadata' | 'spec'>): ReadonlyArray<Problem> {
  const { metadata, spec } = pool.spec.template;
  const problems = collect((report) => {
    judgeLabels(metadata?.labels ?? {}, report);
    judgeTaints(spec, report);
    for (const [index, requirement] of (spec.requirements ?? []).entries()) {
      const path = `spec.template.spec.requirements[${index}]`;
      judgeRequirement(requirement, path, report);
      if (requirement.key === 'karpenter.sh/nodepool') {
        report(`${path}.key`, 'a pool may not require its own label', 'remove this requirement');
      }
    }
  });
  return [
    ...problems,
    ...readStatedDevices(pool.metadata).problems,
    ...readEvictionCost(pool.metadata).problems,
    ...readMoveCost(pool.metadata).problems,
    ...bakeTimeProblems(pool.metadata),
  ];
}

/** Why Karpenter would not apply this overlay; empty where it would. */
export function nodeOverlayRuntimeProblems(overlay: Pick<NodeOverlay, 'spec'>): ReadonlyArray<Problem> {
  return collect((report) => {
    for (const [index, requirement] of (overlay.spec.requirements ?? []).entries()) {
      judgeRequirement(requirement, `spec.requirements[${index}]`, report);
    }
  });
}

function judgeLabels(labels: Readonly<Record<string, string>>, report: Report): void {
  for (const [key, value] of Object.entries(labels)) {
    const path = `spec.template.metadata.labels[${key}]`;
    const restriction = key === 'karpenter.sh/nodepool' ? 'the pool sets this label itself' : restrictionOf(key);
    if (restriction !== null) report(path, restriction, `remove it, or use a domain of your own${labelKeyMeant(key)}`);
    if (!isQualifiedName(key)) {
      report(path, 'the key is not a label key', 'use prefix/name, a name of at most 63 characters');
    }
    if (!isLabelValue(value)) report(path, 'the value is not a label value', 'use at most 63 of A-Z a-z 0-9 - _ .');
  }
}

const effects: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute', '']);

function judgeTaints(
  spec: { readonly taints?: ReadonlyArray<Taint>; readonly startupTaints?: ReadonlyArray<Taint> },
  report: Report,
): void {
  const seen = new Set<string>();
  for (const field of ['taints', 'startupTaints'] as const) {
    for (const [index, { key, value, effect }] of (spec[field] ?? []).entries()) {
      const path = `spec.template.spec.${field}[${index}]`;
      if (!isQualifiedName(key)) report(`${path}.key`, 'is not a qualified name', 'shorten it to 63 characters');
      if (value !== undefined && value !== '' && !isQualifiedName(value)) {
        report(`${path}.value`, 'is not a qualified name', 'shorten it to 63 characters');
      }
      if (!effects.has(effect)) report(`${path}.effect`, 'is not an effect of taints', 'use NoSchedule');
      const identity = `${key}=${effect}`;
      if (seen.has(identity)) {
        report(path, `${identity} is listed twice, over taints and startupTaints together`, 'keep one of them');
      }
      seen.add(identity);
    }
  }
}

function judgeRequirement(requirement: Requirement, path: string, report: Report): void {
  const key = normalizedLabels.get(requirement.key) ?? requirement.key;
  const restriction = restrictionOf(key);
  if (restriction !== null) {
    report(`${path}.key`, restriction, `use a well-known key, or a domain of your own${labelKeyMeant(key)}`);
  }
  if (!isQualifiedName(key)) {
    report(`${path}.key`, 'is not a label key', 'use prefix/name, a name of at most 63 characters');
  }
  for (const [index, value] of (requirement.values ?? []).entries()) {
    if (!isLabelValue(value)) {
      report(`${path}.values[${index}]`, 'is not a label value', 'use at most 63 of A-Z a-z 0-9 - _ .');
    }
  }
  judgeNumberOfValues(requirement, path, report);
  judgeKnownValues({ ...requirement, key }, path, report);
}

/** The CRD's rules say this too; an object stored under an older CRD has not met them. */
function judgeNumberOfValues({ operator, values = [], minValues }: Requirement, path: string, report: Report): void {
  if (operator === 'In' && values.length < Math.max(1, minValues ?? 1)) {
    report(`${path}.values`, 'In needs a value, and as many as minValues', 'list more values or lower minValues');
  }
  if (comparisons.has(operator) && !(values.length === 1 && isNonNegativeInteger(values[0] ?? ''))) {
    report(`${path}.values`, `${operator} compares with one whole number`, 'give exactly one, in quotes');
  }
}

function judgeKnownValues({ key, operator, values = [], minValues }: Requirement, path: string, report: Report): void {
  const known = wellKnownValues.get(key);
  if (known === undefined || operator !== 'In' || !wellKnownLabels.has(key)) return;
  const usable = values.filter((value) => known.includes(value));
  if (usable.length === 0) {
    report(`${path}.values`, `none of these exists for ${key}`, `use one of ${known.join(', ')}`);
  } else if (minValues !== undefined && usable.length < minValues) {
    report(`${path}.values`, `only ${usable.length} of these exist for ${key}`, 'lower minValues');
  }
}
