import type { Pod } from '../../model/cluster.ts';
import { meetsNeed, allowsBin, hasRoom, takeOff, type Bin } from '../state/bins.ts';
import type { SpreadTerm } from '../state/need-terms.ts';
import type { Need } from '../state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { allotOnBin, holdOnBin, leaveHoldings } from '../state/device-state.ts';
import { guardFor, putOnBin } from './place.ts';
import { needsByTerm } from './place-by-term.ts';
import { recordOnNode, type Counter } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

interface Kept {
  readonly pod: Pod;
  readonly need: Need;
  readonly bin: Bin;
}

/**
 * Pods that an earlier plan or kube-scheduler gave a place keep it, so that plans made while nodes start do not chase each
 * other. They were placed together, so they are judged together: a pod loses its place when its room is taken, or when
 * with all others in theirs some rule no longer lets it in. Answers the pods that are not placed.
 */
export function keepPromises(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  if (workspace.bins.length === 0) return pods;
  const byNode = new Map(workspace.bins.map((bin) => [bin.capacity.name, bin]));
  const byPod = new Map<string, Bin>();
  for (const bin of workspace.bins) {
    const promise = workspace.input.inFlight.get(bin.capacity.claim ?? '');
    for (const uid of promise?.pods ?? []) byPod.set(uid, bin);
  }
  const running = new Map([...workspace.topology.counters.values()].map((one) => [one, new Map(one.byDomain)]));
  const kept: Array<Kept> = [];
  const open: Array<Pod> = [];
  for (const pod of pods) {
    const bin = byPod.get(pod.uid) ?? byNode.get(pod.nominatedNodeName ?? '');
    const need = workspace.needs.get(pod.shape)?.at(-1);
    if (bin === undefined || need === undefined || !hasPlace(bin, need) || !getsDevices(workspace, bin, need, pod)) {
      open.push(pod);
      continue;
    }
    putOnBin(workspace, bin, need, pod);
    kept.push({ pod, need, bin });
  }
  return [...open, ...kept.filter((one) => !staysAllowed(workspace, one, running)).map(({ pod }) => pod)];
}

function hasPlace(bin: Bin, need: Need): boolean {
  return hasRoom(bin, need.shape) && meetsNeed(bin, need);
}

/** Gives the pod's claims devices there; false when there are none for them. */
function getsDevices({ devices }: Workspace, bin: Bin, need: Need, pod: Pod): boolean {
  if (!hasDeviceClaims(need.shape.shape.spec)) return true;
  const allotment = devices === null ? null : allotOnBin(devices, bin, pod);
  if (devices === null || allotment === null) return false;
  holdOnBin(devices, bin, pod, allotment);
  return true;
}

/**
 * Takes the pod off and, if the rules let it back on, puts it back. `settled`: per spread the pods that are certain to be
 * in a domain, those that run and the promised ones judged so far; this pod joins them when it stays.
 */
function staysAllowed(workspace: Workspace, { pod, need, bin }: Kept, settled: Settled): boolean {
  const { topology } = workspace;
  const { spread } = need.terms;
  const isEvenFor = ({ terms }: Need): boolean =>
    terms.spread.every((term) => isEven(term, domainFor(bin, term), settled));
  const even =
    isEvenFor(need) || needsByTerm(workspace, need).some((byTerm) => meetsNeed(bin, byTerm) && isEvenFor(byTerm));
  recordOnNode(topology, pod.shape, bin.capacity, -1);
  const others = { ...need, terms: { ...need.terms, spread: [] } };
  if (!even || !allowsBin(guardFor(workspace, others, true), bin)) {
    takeOff(bin, need.shape, pod);
    if (workspace.devices !== null) leaveHoldings(workspace.devices, pod);
    return false;
  }
  recordOnNode(topology, pod.shape, bin.capacity, 1);
  for (const { counter, self } of spread) {
    const domain = bin.capacity.labels[counter.key] ?? '';
    settled.get(counter)?.set(domain, (settled.get(counter)?.get(domain) ?? 0) + self);
  }
  return true;
}

type Settled = ReadonlyMap<Counter, Map<string, number>>;

function domainFor({ capacity }: Bin, { counter }: SpreadTerm): string {
  return capacity.labels[counter.key] ?? '';
}

/** With all promised pods in their places, is the pod's domain still within maxSkew of the emptiest? */
function isEven(
  { counter, domains, maxSkew, minDomains, self }: SpreadTerm,
  domain: string,
  settled: Settled,
): boolean {
  const here = (settled.get(counter)?.get(domain) ?? 0) + self;
  const counts = domains.map((one) => counter.byDomain.get(one) ?? 0);
  const least = domains.length === 0 || domains.length < minDomains ? 0 : Math.min(...counts);
  return here - least <= maxSkew;
}
