import type { Pod } from '../../model/cluster.ts';
import { meetsNeed, allowsNode, hasRoom, takeOff, type ExistingNode } from '../state/existing-nodes.ts';
import type { SpreadTerm } from '../state/need-terms.ts';
import type { Need } from '../state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { allotOnNode, bookOnNode, leaveHoldings } from '../state/device-state.ts';
import { guardFor, putOnNode } from './place.ts';
import { needsByTerm } from './place-by-term.ts';
import { recordOnNode, type Counter } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

interface KeptPromise {
  readonly pod: Pod;
  readonly need: Need;
  readonly node: ExistingNode;
}

/**
 * Pods that an earlier plan or kube-scheduler gave a place keep it, so that plans made while nodes start do not chase
 * each other. They were placed together, so they are judged together: a pod loses its place when its room is taken, or
 * when with all others in theirs some rule no longer lets it in. Returns the pods that are not placed.
 */
export function keepPromises(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  if (workspace.nodes.length === 0) return pods;
  const byNode = new Map(workspace.nodes.map((node) => [node.capacity.name, node]));
  const byPod = new Map<string, ExistingNode>();
  for (const node of workspace.nodes) {
    const promise = workspace.input.inFlight.get(node.capacity.claim ?? '');
    for (const uid of promise?.pods ?? []) byPod.set(uid, node);
  }
  const running = new Map([...workspace.topology.counters.values()].map((one) => [one, new Map(one.byDomain)]));
  const kept: Array<KeptPromise> = [];
  const open: Array<Pod> = [];
  for (const pod of pods) {
    const node = byPod.get(pod.uid) ?? byNode.get(pod.nominatedNodeName ?? '');
    const need = workspace.needs.get(pod.shape)?.at(-1);
    if (node === undefined || need === undefined || !hasPlace(node, need) || !getsDevices(workspace, node, need, pod)) {
      open.push(pod);
      continue;
    }
    putOnNode(workspace, node, need, pod);
    kept.push({ pod, need, node });
  }
  return [...open, ...kept.filter((one) => !staysAllowed(workspace, one, running)).map(({ pod }) => pod)];
}

function hasPlace(node: ExistingNode, need: Need): boolean {
  return hasRoom(node, need.shape) && meetsNeed(node, need);
}

/** Gives the pod's claims devices there; false when there are none for them. */
function getsDevices({ devices }: Workspace, node: ExistingNode, need: Need, pod: Pod): boolean {
  if (!hasDeviceClaims(need.shape.shape.spec)) return true;
  const allotment = devices === null ? null : allotOnNode(devices, node, pod);
  if (devices === null || allotment === null) return false;
  bookOnNode(devices, node, pod, allotment);
  return true;
}

/**
 * Takes the pod off and, if the rules let it back on, puts it back. `settled`: per spread the pods that are certain to
 * be in a domain, those that run and the promised ones judged so far; this pod joins them when it stays.
 */
function staysAllowed(workspace: Workspace, { pod, need, node }: KeptPromise, settled: SettledCounts): boolean {
  const { topology } = workspace;
  const { spread } = need.terms;
  const isEvenFor = ({ terms }: Need): boolean =>
    terms.spread.every((term) => isEven(term, domainFor(node, term), settled));
  const even =
    isEvenFor(need) || needsByTerm(workspace, need).some((byTerm) => meetsNeed(node, byTerm) && isEvenFor(byTerm));
  recordOnNode(topology, pod.shape, node.capacity, -1);
  const others = { ...need, terms: { ...need.terms, spread: [] } };
  if (!even || !allowsNode(guardFor(workspace, others, true), node)) {
    takeOff(node, need.shape, pod);
    if (workspace.devices !== null) leaveHoldings(workspace.devices, pod);
    return false;
  }
  recordOnNode(topology, pod.shape, node.capacity, 1);
  for (const { counter, self } of spread) {
    const domain = node.capacity.labels[counter.key] ?? '';
    settled.get(counter)?.set(domain, (settled.get(counter)?.get(domain) ?? 0) + self);
  }
  return true;
}

type SettledCounts = ReadonlyMap<Counter, Map<string, number>>;

function domainFor({ capacity }: ExistingNode, { counter }: SpreadTerm): string {
  return capacity.labels[counter.key] ?? '';
}

/** With all promised pods in their places, is the pod's domain still within maxSkew of the emptiest? */
function isEven(
  { counter, domains, maxSkew, minDomains, self }: SpreadTerm,
  domain: string,
  settled: SettledCounts,
): boolean {
  const here = (settled.get(counter)?.get(domain) ?? 0) + self;
  const counts = domains.map((one) => counter.byDomain.get(one) ?? 0);
  const least = domains.length === 0 || domains.length < minDomains ? 0 : Math.min(...counts);
  if (here - least <= maxSkew) return true;
  const { crowding } = counter;
  return crowding !== null && minDomains <= 1 && here <= crowding.most && here - crowding.least() <= maxSkew;
}
