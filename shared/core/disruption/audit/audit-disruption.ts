import type { PlannedClaim } from '../../model/plan.ts';
import { auditedCatalog } from '../../audit/seen/audited-catalog.ts';
import { sizesOf, type AuditedInput } from '../../audit/seen/audited-sizes.ts';
import { finalState, type FinalNode, type PodsOnNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { auditedDaemons, nodeCheck } from '../../audit/rules/node-checks.ts';
import { offeredDomains } from '../../audit/topology/offered-domains.ts';
import { auditedReservations } from '../../audit/rules/reservation-checks.ts';
import { auditedShapes } from '../../audit/rules/spread-by-default.ts';
import { checkTopology } from '../../audit/topology/topology-checks.ts';
import { microUsdPerHour, type Instant } from '../../quantity/units.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { DisruptionPlan, DisruptionStep, PlannedReplacement } from '../plan/disruption-plan.ts';
import { leaveChecks } from './leave-checks.ts';
import { checkSavings } from './savings-checks.ts';
import { checkStatement } from './statement-checks.ts';

/**
 * Checks a plan of disruption against its input, step by step, without knowing how it was made: who may go, that every pod of a node
 * that goes moves once and to a place that its rules allow, budgets, prices, and that what is stated is so. Empty when nothing is wrong.
 */
export function auditDisruption(plan: DisruptionPlan, given: DisruptionInput, now: Instant): ReadonlyArray<Finding> {
  const { provisioning } = given;
  const cluster = { ...provisioning.cluster, shapes: auditedShapes(provisioning) };
  const priced = { ...provisioning, cluster, catalog: auditedCatalog(provisioning) };
  const catalog = auditedReservations(priced);
  const input: AuditedInput = { ...priced, catalog, sizes: sizesOf(catalog) };
  const state = stateAtFirst(plan, input);
  const check = nodeCheck(cluster, auditedDaemons(input));
  const mayLeave = leaveChecks({ ...given, provisioning: input }, now);
  const offered = offeredDomains(input);
  const moved = new Set<string>();
  const findings = [...checkStatement(plan, input)];
  for (const [number, step] of plan.steps.entries()) {
    const say = ({ rule, text }: Finding): Finding => fatal(rule, `step ${number + 1}: ${text}`);
    const own = [
      ...mayLeave(step, state),
      ...checkSavings(step, plan, { input, state }),
      ...applyStep(step, input, { state, moved }),
    ];
    const nodes = [...state.values()];
    own.push(...nodes.flatMap(check), ...checkTopology({ cluster, nodes, offered }));
    for (const { pods } of nodes) for (const one of pods.values()) arrive(one);
    findings.push(...own.map(say));
  }
  return findings;
}

/** Pods that have arrived are there like any other. */
function arrive(pods: PodsOnNode): void {
  pods.running += pods.planned;
  pods.planned = 0;
}

/** Nodes by name; those that the plan creates have no pods yet. */
function stateAtFirst({ replacements }: DisruptionPlan, input: AuditedInput): Map<string, FinalNode> {
  const claims = replacements.map(claimOf);
  const none = microUsdPerHour(0);
  const weighed = { cost: none, lowerBound: none };
  const empty = { claims, nominations: [], left: [], buffers: [], devices: [], cost: none, lowerBound: none, weighed };
  const state = new Map<string, FinalNode>();
  for (const [key, node] of finalState(empty, input)) {
    const [kind, index] = key.split('/');
    const name = kind === 'planned' ? (replacements[Number(index)]?.name ?? '') : node.name;
    const labels = kind === 'planned' ? new Map([...node.labels, ['kubernetes.io/hostname', [name]]]) : node.labels;
    if (kind !== 'claim') state.set(name, { ...node, name, labels });
  }
  return state;
}

function claimOf({
  nodePool,
  instanceType,
  zone,
  capacityType,
  price,
  reservationId,
}: PlannedReplacement): PlannedClaim {
  const reserved = reservationId === undefined ? {} : { reservationId };
  return {
    nodePool,
    offering: { instanceType, zone, capacityType, price, ...reserved },
    fallbacks: [],
    runnerUp: null,
    cheaper: [],
    requirements: [],
    labels: {},
    annotations: {},
    taints: [],
    startupTaints: [],
    requests: {},
    pods: [],
  };
}

interface Progress {
  readonly state: Map<string, FinalNode>;
  /** Uids of pods that a step has moved. */
  readonly moved: Set<string>;
}

/** Moves pods and takes nodes away, in the state. */
function applyStep(
  step: DisruptionStep,
  { cluster }: AuditedInput,
  { state, moved }: Progress,
): ReadonlyArray<Finding> {
  const findings: Array<Finding> = [];
  const going = new Set(step.remove);
  const due = new Map(
    cluster.pods.flatMap((pod) => {
      const kind = cluster.shapes[pod.shape]?.owner?.kind;
      const stays = pod.deleting || kind === 'DaemonSet' || kind === 'Node';
      return pod.nodeName === null || stays || !going.has(pod.nodeName) ? [] : [[pod.uid, pod] as const];
    }),
  );
  for (const { uid, pod: name, from, to } of step.moves) {
    const pod = due.get(uid);
    const spec = pod === undefined ? undefined : cluster.shapes[pod.shape];
    const target = state.get(to.name);
    if (moved.has(uid)) findings.push(fatal('moved-twice', `${name} is moved again`));
    moved.add(uid);
    due.delete(uid);
    if (pod === undefined || spec === undefined || pod.nodeName !== from) {
      findings.push(fatal('move', `${name} is not on ${from}, or does not move`));
      continue;
    }
    if (target === undefined || going.has(to.name) || target.leaving) {
      findings.push(fatal('target', `${name} goes to ${to.name}, which is not there`));
      continue;
    }
    const there = target.pods.get(pod.shape) ?? { shape: pod.shape, spec, running: 0, leaving: 0, planned: 0 };
    target.pods.set(pod.shape, there);
    there.planned++;
  }
  for (const { name } of due.values()) findings.push(fatal('pod-lost', `pod ${name} has no place`));
  for (const name of going) {
    const node = state.get(name);
    if (node === undefined) findings.push(fatal('remove', `${name} is not there`));
    else if ([...node.pods.values()].some(({ planned }) => planned > 0)) findings.push(fatal('target', `${name} goes`));
    state.delete(name);
  }
  return findings;
}
