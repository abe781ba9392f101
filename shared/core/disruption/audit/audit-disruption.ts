import type { Cluster, Pod } from '../../model/cluster.ts';
import type { PlannedClaim } from '../../model/plan.ts';
import { auditedCatalog } from '../../audit/seen/audited-catalog.ts';
import { sizesOf, type AuditedInput } from '../../audit/seen/audited-sizes.ts';
import { finalState, type FinalNode, type PodsOnNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding, type Subject } from '../../audit/seen/finding.ts';
import { auditedDaemons, nodeCheck } from '../../audit/rules/node-checks.ts';
import { offeredDomains } from '../../audit/topology/offered-domains.ts';
import { auditedReservations } from '../../audit/rules/reservation-checks.ts';
import { auditedShapes } from '../../audit/rules/spread-by-default.ts';
import { checkTopology } from '../../audit/topology/topology-checks.ts';
import { emptyPlan } from '../../recovery/empty-plan.ts';
import type { Instant } from '../../quantity/units.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { DisruptionPlan, DisruptionStep, PlannedReplacement } from '../plan/disruption-plan.ts';
import { checkWaiting, crowdsOn, expectedIn } from './waiting-checks.ts';
import { leaveChecks } from './leave-checks.ts';
import { checkSavings } from './savings-checks.ts';
import { checkStatement } from './statement-checks.ts';

/**
 * Checks a plan of disruption against its input, step by step, without knowing how it was made: who may go, that every
 * pod of a node that goes moves once and to a place that its rules allow, budgets, prices, and that what is stated is
 * so. Empty when nothing is wrong.
 * `most`: of so many steps, from the first on.
 */
export function auditDisruption(
  plan: DisruptionPlan,
  given: DisruptionInput,
  now: Instant,
  most = Infinity,
): ReadonlyArray<Finding> {
  const { provisioning } = given;
  const cluster = { ...provisioning.cluster, shapes: auditedShapes(provisioning) };
  const priced = { ...provisioning, cluster, catalog: auditedCatalog(provisioning) };
  const catalog = auditedReservations(priced);
  const input: AuditedInput = { ...priced, catalog, sizes: sizesOf(catalog) };
  const state = stateAtFirst(plan, input);
  const check = nodeCheck(cluster, auditedDaemons(input));
  const mayLeave = leaveChecks({ ...given, provisioning: input }, now);
  const offered = offeredDomains(input);
  const expectedOf = expectedIn(input);
  const podsOn = Map.groupBy(cluster.pods, ({ nodeName }) => nodeName);
  const progress: Progress = { state, moved: new Set(), come: new Map(), podsOn };
  const findings = [...checkStatement(plan, input)];
  for (const [number, step] of plan.steps.slice(0, most).entries()) {
    const meant = nodesMeant(plan, step, cluster);
    const say = (one: Finding): Finding => fatal(one.rule, `step ${number + 1}: ${one.text}`, ...meant(one));
    const going = step.remove.map((name) => ({ name, reason: step.reason }));
    const crowdOf = crowdsOn(step, state);
    const own = [
      ...mayLeave(going, [...state.values()]),
      ...checkSavings(step, plan, { input, state }),
      ...applyStep(step, input, progress),
    ];
    const nodes = [...state.values()];
    const getting = [...new Set(step.moves.map(({ to }) => to.name))].flatMap((name) => state.get(name) ?? []);
    own.push(
      ...getting.flatMap(check),
      ...checkTopology({ cluster, nodes, offered, crowdOf, expectedOn: expectedOf(nodes) }),
    );
    own.push(...checkWaiting(getting, cluster, crowdOf));
    for (const { pods } of getting) for (const one of pods.values()) arrive(one);
    findings.push(...own.map(say));
  }
  return findings;
}

/**
 * What to leave out of a plan for it not to have the finding: the nodes of the step that it names, or whose pods it is
 * about, or whose pods come to what it names; where it names none of these, all nodes of the step.
 */
function nodesMeant(
  { replacements }: DisruptionPlan,
  { remove, moves }: DisruptionStep,
  { pods }: Cluster,
): (finding: Finding) => ReadonlyArray<Subject> {
  return ({ about }) => {
    const own = new Set(
      about.flatMap((subject) => {
        const uids = uidsOf(subject, pods);
        const name = subject.kind === 'planned' ? replacements[subject.index]?.name : nameOf(subject);
        const from = moves.filter(({ uid, to }) => to.name === name || uids.has(uid)).map((move) => move.from);
        return [name, ...from];
      }),
    );
    const named = remove.filter((name) => own.has(name));
    return (named.length > 0 ? named : remove).map((name) => ({ kind: 'node', name }));
  };
}

function nameOf(subject: Subject): string | undefined {
  return subject.kind === 'node' ? subject.name : undefined;
}

function uidsOf(subject: Subject, pods: Cluster['pods']): ReadonlySet<string> {
  if (subject.kind === 'pod') return new Set([subject.uid]);
  if (subject.kind !== 'shape') return new Set();
  return new Set(pods.filter(({ shape }) => shape === subject.shape).map(({ uid }) => uid));
}

/** Pods that have arrived are there like any other. */
function arrive(pods: PodsOnNode): void {
  pods.running += pods.planned;
  pods.planned = 0;
}

/** Nodes by name; those that the plan creates have no pods yet. */
function stateAtFirst({ replacements }: DisruptionPlan, input: AuditedInput): Map<string, FinalNode> {
  const claims = replacements.map(claimOf);
  const state = new Map<string, FinalNode>();
  for (const [key, node] of finalState({ ...emptyPlan(), claims }, input)) {
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
    // Stryker disable ArrayDeclaration: nothing but pool, offering, labels and pods is read of it, and of a pod no more than its uid
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
    // Stryker restore ArrayDeclaration
  };
}

interface Progress {
  readonly state: Map<string, FinalNode>;
  /** Uids of pods that a step has moved. */
  readonly moved: Set<string>;
  /** By name of node: pods that a step has brought there. */
  readonly come: Map<string, ReadonlyArray<string>>;
  /** By name of node, as it is now. */
  readonly podsOn: ReadonlyMap<string | null, ReadonlyArray<Pod>>;
}

/** Moves pods and takes nodes away, in the state. */
function applyStep(
  step: DisruptionStep,
  { cluster }: AuditedInput,
  { state, moved, come, podsOn }: Progress,
): ReadonlyArray<Finding> {
  const going = new Set(step.remove);
  const findings = [...checkArrived(going, come)];
  const due = dueOf(step, cluster, podsOn);
  for (const { uid, pod: name, from, to } of step.moves) {
    const pod = due.get(uid);
    const spec = pod === undefined ? undefined : cluster.shapes[pod.shape];
    const target = state.get(to.name);
    if (moved.has(uid)) findings.push(fatal('moved-twice', `${name} is moved again`, { kind: 'pod', uid }));
    moved.add(uid);
    due.delete(uid);
    if (pod === undefined || spec === undefined || pod.nodeName !== from) {
      findings.push(fatal('move', `${name} is not on ${from}, or does not move`, { kind: 'pod', uid }));
      continue;
    }
    if (target === undefined || going.has(to.name) || target.leaving) {
      findings.push(fatal('target', `${name} goes to ${to.name}, which does not exist`, { kind: 'pod', uid }));
      continue;
    }
    const there = target.pods.get(pod.shape) ?? { shape: pod.shape, spec, running: 0, leaving: 0, planned: 0 };
    target.pods.set(pod.shape, there);
    there.planned++;
    come.set(to.name, [...(come.get(to.name) ?? []), name]);
  }
  for (const { name, nodeName } of due.values()) {
    findings.push(fatal('pod-lost', `pod ${name} has no place`, { kind: 'node', name: nodeName ?? '' }));
  }
  return [...findings, ...takeAway(going, state)];
}

/** A pod moves once, and so a node that an earlier step has brought one to stays. */
function checkArrived(going: ReadonlySet<string>, come: Progress['come']): ReadonlyArray<Finding> {
  return [...going].flatMap((name) =>
    (come.get(name) ?? []).map((pod) =>
      fatal('pod-lost', `pod ${pod} has come to it and has no place`, { kind: 'node', name }),
    ),
  );
}

/** Takes nodes away, in the state. */
function takeAway(going: ReadonlySet<string>, state: Map<string, FinalNode>): ReadonlyArray<Finding> {
  const missing = [...going].filter((name) => !state.delete(name));
  return missing.map((name) => fatal('remove', `${name} is not there`, { kind: 'node', name }));
}

/** By uid: the pods on the nodes of the step that need another place. */
function dueOf({ remove }: DisruptionStep, { shapes }: Cluster, podsOn: Progress['podsOn']): Map<string, Pod> {
  const there = [...new Set(remove)].flatMap((name) => podsOn.get(name) ?? []);
  return new Map(
    there.flatMap((pod) => {
      const kind = shapes[pod.shape]?.owner?.kind;
      return pod.deleting || kind === 'DaemonSet' || kind === 'Node' ? [] : [[pod.uid, pod] as const];
    }),
  );
}
