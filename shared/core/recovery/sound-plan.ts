import { auditPlan, type Finding } from '../audit/audit-plan.ts';
import { fatal } from '../audit/seen/finding.ts';
import type { LeftPod, Plan } from '../model/plan.ts';
import type { Pod } from '../model/cluster.ts';
import { podName } from '../model/pod-name.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { planProvisioning } from '../plan-provisioning.ts';
import { withoutBuffers } from '../present/buffer-pods.ts';
import { pendingPods } from '../present/pending-pods.ts';
import type { Instant } from '../quantity/units.ts';
import { emptyPlan } from './empty-plan.ts';
import { addFirstFit, type FirstFit } from './first-fit.ts';
import { isNothingNamed, namedBy, NOTHING_NAMED, together, withoutNamed, type Named } from './named.ts';

declare const audited: unique symbol;

/** A plan that its audit has let through: no other can be committed. */
export type AuditedPlan = Plan & { readonly [audited]: true };

/** What a plan is made by; it may be wrong, and it may throw. */
export type Planner = (input: ProvisioningInput, now: Instant) => Plan;

/** What of the first plan was refused, and what is done in its place. */
export interface RefusedPlan {
  readonly findings: ReadonlyArray<Finding>;
  /** The NodePools that findings name, by themselves or by their claims; sorted. */
  readonly nodePools: ReadonlyArray<string>;
  /** `rest`: the planner's, without what findings name. `first-fit`: nothing of the planner's holds. */
  readonly instead: 'rest' | 'first-fit';
  /** Pods that findings kept out of the planner's plan, and that first-fit has a place for. */
  readonly rescued: number;
  /** Pods for which nothing sound was found. */
  readonly leftOut: number;
}

/** A plan that may be executed, and what it is about. */
export interface SoundPlan {
  readonly plan: AuditedPlan;
  /** What was planned and audited: the given input, without its buffers where the first plan was refused. */
  readonly input: ProvisioningInput;
  /** What the audit says of the plan that stops nothing. */
  readonly warnings: ReadonlyArray<Finding>;
  /** Null where the first plan held. */
  readonly refused: RefusedPlan | null;
}

/**
 * Plans without what findings name: each takes as long as the first, and what the second still meets is the planner's
 * own fault.
 */
const ROUNDS_MAX = 3;

/** Findings that a pod that is left out is told; the log has them all. */
const FINDINGS_TOLD = 3;

/**
 * A plan that its audit lets through. One that breaks its own rules is a bug of ours and must not reach Azure, and it
 * must not keep other pods waiting: what its findings name is left out and the rest planned again; what is left out, or
 * all where that does not hold either, is placed by plain first-fit, audited as well. Pods for which nothing sound is
 * found are left, with the finding as their reason. A plan that places nobody is not judged: nothing of it is done.
 * Pure, whatever `planner` is, if that is.
 */
export function soundPlan(input: ProvisioningInput, now: Instant, planner: Planner = planProvisioning): SoundPlan {
  const first = attempt(planner, input, now);
  if (first.kind === 'sound') return { plan: first.plan, input, warnings: first.warnings, refused: null };

  // Room for nobody yet waits for a plan that holds.
  const base = withoutBuffers(input);
  const pending = pendingPods(base.cluster, base.inFlight, now);
  const rest = planRest(planner, { base, now, first: first.refusal, pending: new Set(pending.map(({ uid }) => uid)) });
  const start = rest ?? emptyPlan();
  const spokenOf = new Set(toldBy(start));
  const untold = pending.filter(({ uid }) => !spokenOf.has(uid));
  const leave = (pods: ReadonlyArray<Pod>): ReadonlyArray<LeftPod> =>
    pods.map((pod) => leftOut(base, pod, first.refusal.findingOf(pod.shape)));
  const { plan, unplaced } = orNone(() => addFirstFit(base, start, untold), { plan: start, unplaced: untold });
  const ended = { ...plan, left: [...plan.left, ...leave(unplaced)] };
  const found = findingsIn(ended, base);
  const refused = (rescued: number, left: number): RefusedPlan => ({
    findings: first.refusal.findings,
    nodePools: first.refusal.nodePools,
    instead: start.claims.length + start.nominations.length > 0 ? 'rest' : 'first-fit',
    rescued,
    leftOut: left,
  });
  if (found.every(isWarning)) {
    return {
      plan: approved(ended),
      input: base,
      warnings: found,
      refused: refused(untold.length - unplaced.length, unplaced.length),
    };
  }
  // What holds by itself does, whatever is wrong with the rest.
  const bare = { ...start, left: [...start.left, ...leave(untold)] };
  const warnings = findingsIn(bare, base).filter(isWarning);
  return { plan: approved(bare), input: base, warnings, refused: refused(0, untold.length) };
}

/** What first-fit makes; nothing where it, or the audit that it asks, fails. */
function orNone(fit: () => FirstFit, none: FirstFit): FirstFit {
  try {
    return fit();
  } catch {
    return none;
  }
}

/** The plan as one that may be committed; null where its audit finds something fatal. */
export function judged(plan: Plan, input: ProvisioningInput): AuditedPlan | null {
  return findingsIn(plan, input).every(isWarning) ? approved(plan) : null;
}

// The one place where the mark is given.
function approved(plan: Plan): AuditedPlan {
  // oxlint-disable-next-line no-unsafe-type-assertion
  return plan as AuditedPlan;
}

/** An audit that fails has found that the plan cannot be read, and is no reason to keep others waiting. */
function findingsIn(plan: Plan, input: ProvisioningInput): ReadonlyArray<Finding> {
  try {
    if (plan.claims.length + plan.nominations.length === 0) return [];
    return auditPlan(plan, input);
  } catch (error) {
    return [fatal('audit', `the audit failed: ${textOf(error)}`)];
  }
}

function isWarning({ severity }: Finding): boolean {
  return severity === 'warning';
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a plan was refused, and what of its input that names. */
interface Refusal {
  readonly findings: ReadonlyArray<Finding>;
  readonly named: Named;
  readonly nodePools: ReadonlyArray<string>;
  /** What pods of the shape are told: what names them, else all. */
  readonly findingOf: (shape: number) => string;
}

type Attempt =
  | { readonly kind: 'sound'; readonly plan: AuditedPlan; readonly warnings: ReadonlyArray<Finding> }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

function attempt(planner: Planner, input: ProvisioningInput, now: Instant): Attempt {
  let plan: Plan;
  try {
    plan = planner(input, now);
  } catch (error) {
    // Whatever it is, pods wait: first-fit shares none of that code.
    return namesNothing([fatal('planner', `the planner failed: ${textOf(error)}`)]);
  }
  const found = findingsIn(plan, input);
  if (found.every(isWarning)) return { kind: 'sound', plan: approved(plan), warnings: found };
  const findings = found.filter((one) => !isWarning(one));
  if (findings.some(({ rule }) => rule === 'audit')) return namesNothing(findings);
  const findingOf = (shape: number): string => {
    const own = findings.filter((one) => namedBy([one], plan, input).named.shapes.has(shape));
    return told(own.length > 0 ? own : findings);
  };
  return { kind: 'refused', refusal: { findings, findingOf, ...namedBy(findings, plan, input) } };
}

function namesNothing(findings: ReadonlyArray<Finding>): Attempt {
  return {
    kind: 'refused',
    refusal: { findings, named: NOTHING_NAMED, nodePools: [], findingOf: () => told(findings) },
  };
}

function told(findings: ReadonlyArray<Finding>): string {
  return findings
    .slice(0, FINDINGS_TOLD)
    .map(({ rule, text }) => `${rule}: ${text}`)
    .join('; ');
}

interface Rest {
  readonly base: ProvisioningInput;
  readonly now: Instant;
  readonly first: Refusal;
  /** Uids of the pods that are planned for. */
  readonly pending: ReadonlySet<string>;
}

/** A sound plan for what no finding names; null where there is none. */
function planRest(planner: Planner, { base, now, first, pending }: Rest): AuditedPlan | null {
  let { named } = first;
  for (let round = 0; round < ROUNDS_MAX && !isNothingNamed(named); round++) {
    const next = attempt(planner, withoutNamed(base, named, pending), now);
    if (next.kind === 'sound') return next.plan;
    const more = together(named, next.refusal.named);
    // One that names nothing new would come out the same again.
    if (more.size === named.shapes.size + named.staticPools.size) return null;
    ({ named } = more);
  }
  return null;
}

function toldBy({ claims, nominations, left }: Plan): ReadonlyArray<string> {
  const placed = [...claims, ...nominations].flatMap(({ pods }) => pods);
  return [...placed, ...left.map(({ pod }) => pod)].map(({ uid }) => uid);
}

function leftOut({ cluster }: ProvisioningInput, pod: Pod, finding: string): LeftPod {
  return {
    pod: { name: podName(cluster, pod), uid: pod.uid },
    refusals: [{ kind: 'plan-refused', nodePool: null, finding }],
  };
}
