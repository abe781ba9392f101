import { labelKey } from '../../kubernetes/labels.ts';
import { fatal, type Finding } from '../audit/seen/finding.ts';
import type { DisruptionInput } from '../model/disruption-input.ts';
import type { Instant } from '../quantity/units.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { auditDisruption } from './audit/audit-disruption.ts';
import { auditRemoval, type Removal } from './audit/audit-removal.ts';
import { planDisruption } from './plan-disruption.ts';
import type { DisruptionPlan, DisruptionStep, KeptNode } from './plan/disruption-plan.ts';

declare const audited: unique symbol;

/** A plan of disruption whose first step, or all of it, its audit has let through. */
export type AuditedDisruption = DisruptionPlan & { readonly [audited]: 'plan' };

/** The first step of such a plan: no other can be begun. */
export type AuditedStep = DisruptionStep & { readonly [audited]: 'step' };

/** Nodes that their audit lets go at the second look: no others are removed. */
export type AuditedRemoval = Removal & { readonly [audited]: 'removal' };

/** What a plan of disruption is made by; it may be wrong. */
export type DisruptionPlanner = (input: DisruptionInput, now: Instant) => DisruptionPlan;

/** What of the first plan was refused, and what is done in its place. */
export interface RefusedDisruption {
  readonly findings: ReadonlyArray<Finding>;
  /** `rest`: what is planned without the nodes that findings name. `nothing`: no such plan holds either. */
  readonly instead: 'rest' | 'nothing';
  /** The nodes that findings name, sorted: they stay. None where no plan without them holds. */
  readonly leftOut: ReadonlyArray<string>;
}

/** A plan of disruption that may be begun. */
export interface SoundDisruption {
  readonly plan: AuditedDisruption;
  /** Null where the first plan held. */
  readonly refused: RefusedDisruption | null;
}

/** How a plan comes about, and how much of it is audited. */
export interface SoundOptions {
  readonly planner?: DisruptionPlanner;
  /** So many steps, from the first on. A step that is not begun need not hold: the next look makes the plan anew. */
  readonly most?: number;
}

/**
 * Plans without what findings name: each takes as long as the first, and what the second still meets is the planner's
 * own fault.
 */
const ROUNDS_MAX = 3;

/**
 * A plan of disruption that its audit lets through. One that breaks its own rules is a bug of ours: the nodes that its
 * findings name stay, and the rest is planned anew; where that holds neither, nothing goes. Pure, whatever `planner`
 * is, if that is.
 */
export function soundDisruption(
  input: DisruptionInput,
  now: Instant,
  { planner = planDisruption, most = Infinity }: SoundOptions = {},
): SoundDisruption {
  const first = planner(input, now);
  const findings = findingsIn(() => auditDisruption(first, input, now, most), first.steps.length);
  if (findings.length === 0) return { plan: approved(first), refused: null };

  let found = findings;
  const findingOf = new Map<string, string>();
  for (let round = 1; round < ROUNDS_MAX; round++) {
    const known = findingOf.size;
    for (const [name, finding] of namedBy(found)) if (!findingOf.has(name)) findingOf.set(name, finding);
    // One that names nothing new would come out the same again.
    if (findingOf.size === known) break;
    const leftOut = new Set([...input.policy.leftOut, ...findingOf.keys()]);
    const smaller = { ...input, policy: { ...input.policy, leftOut } };
    const rest = planner(smaller, now);
    found = findingsIn(() => auditDisruption(rest, smaller, now, most), rest.steps.length);
    if (found.length > 0) continue;
    const instead = rest.steps.length > 0 ? 'rest' : 'nothing';
    return { plan: approved(telling(rest, findingOf)), refused: { findings, instead, leftOut: names(findingOf) } };
  }
  return {
    plan: approved(nothingOf(first, input, told(findings[0]))),
    refused: { findings, instead: 'nothing', leftOut: [] },
  };
}

/** The step that is begun now; null where nothing goes. */
export function firstStep({ steps }: AuditedDisruption): AuditedStep | null {
  const [step] = steps;
  // oxlint-disable-next-line no-unsafe-type-assertion -- a plan that holds begins with a step that does
  return step === undefined ? null : (step as AuditedStep);
}

/** The nodes as what may be removed now, or what speaks against it. */
export function judgedRemoval(
  removal: Removal,
  input: DisruptionInput,
  now: Instant,
):
  | { readonly kind: 'sound'; readonly removal: AuditedRemoval }
  | { readonly kind: 'refused'; readonly findings: ReadonlyArray<Finding> } {
  const findings = findingsIn(() => auditRemoval(removal, input, now), removal.nodes.length);
  if (findings.length > 0) return { kind: 'refused', findings };
  // oxlint-disable-next-line no-unsafe-type-assertion -- the one place where this mark is given
  return { kind: 'sound', removal: removal as AuditedRemoval };
}

// The one place where the mark is given.
function approved(plan: DisruptionPlan): AuditedDisruption {
  // oxlint-disable-next-line no-unsafe-type-assertion
  return plan as AuditedDisruption;
}

/** What the audit finds; nothing where nothing goes. An audit that fails has found that the plan cannot be read. */
function findingsIn(audit: () => ReadonlyArray<Finding>, going: number): ReadonlyArray<Finding> {
  if (going === 0) return [];
  try {
    return audit();
  } catch (error) {
    return [fatal('audit', `the audit failed: ${error instanceof Error ? error.message : String(error)}`)];
  }
}

/** The nodes that findings name, each with what is told of it. */
function namedBy(findings: ReadonlyArray<Finding>): ReadonlyArray<readonly [node: string, finding: string]> {
  return findings.flatMap((one) =>
    one.about.flatMap((subject) => (subject.kind === 'node' ? [[subject.name, told(one)] as const] : [])),
  );
}

function names(findingOf: ReadonlyMap<string, string>): ReadonlyArray<string> {
  return [...findingOf.keys()].toSorted(byCodeUnit);
}

function told(finding: Finding | undefined): string {
  return finding === undefined ? '' : `${finding.rule}: ${finding.text}`;
}

/** The plan, in which nodes that were left out say why. */
function telling(plan: DisruptionPlan, findingOf: ReadonlyMap<string, string>): DisruptionPlan {
  const kept = plan.kept.map((one): KeptNode => {
    const finding = findingOf.get(one.node);
    return finding === undefined ? one : { ...one, reason: { kind: 'plan-refused', finding } };
  });
  return { ...plan, kept };
}

/** What is left of a plan of which nothing is done: all that was to go stays, and says why. */
function nothingOf(
  { steps, kept, eligible, before }: DisruptionPlan,
  { provisioning }: DisruptionInput,
  finding: string,
): DisruptionPlan {
  const poolOf = new Map(
    provisioning.cluster.nodes.map(({ metadata }) => [metadata.name, metadata.labels?.[labelKey.nodePool] ?? null]),
  );
  const staying = steps
    .flatMap(({ remove }) => remove)
    .map((node): KeptNode => ({ node, nodePool: poolOf.get(node) ?? null, reason: { kind: 'plan-refused', finding } }));
  return {
    steps: [],
    replacements: [],
    kept: [...kept, ...staying].toSorted((a, b) => byCodeUnit(a.node, b.node)),
    eligible,
    before,
    after: before,
    lowerBound: before.cost,
  };
}
