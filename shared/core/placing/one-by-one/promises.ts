import type { Pod } from '../../model/cluster.ts';
import { admitsAsk, allowsBin, hasRoom, takeOff, type Bin } from '../state/bins.ts';
import type { SpreadTerm } from '../state/ask-terms.ts';
import type { Ask } from '../state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { allotOnBin, holdOnBin, leaveHoldings } from '../state/device-state.ts';
import { guardFor, putOnBin } from './place.ts';
import { asksByTerm } from './place-by-term.ts';
import { recordOnNode, type Counter } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

interface Kept {
  readonly pod: Pod;
  readonly ask: Ask;
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
    const ask = workspace.asks.get(pod.shape)?.at(-1);
    if (bin === undefined || ask === undefined || !hasPlace(bin, ask) || !getsDevices(workspace, bin, ask, pod)) {
      open.push(pod);
      continue;
    }
    putOnBin(workspace, bin, ask, pod);
    kept.push({ pod, ask, bin });
  }
  return [...open, ...kept.filter((one) => !staysAllowed(workspace, one, running)).map(({ pod }) => pod)];
}

function hasPlace(bin: Bin, ask: Ask): boolean {
  return hasRoom(bin, ask.shape) && admitsAsk(bin, ask);
}

/** Gives the pod's claims devices there; false when there are none for them. */
function getsDevices({ devices }: Workspace, bin: Bin, ask: Ask, pod: Pod): boolean {
  if (!hasDeviceClaims(ask.shape.shape.spec)) return true;
  const allotment = devices === null ? null : allotOnBin(devices, bin, pod);
  if (devices === null || allotment === null) return false;
  holdOnBin(devices, bin, pod, allotment);
  return true;
}

/**
 * Takes the pod off and, if the rules let it back on, puts it back. `settled`: per spread the pods that are certain to be
 * in a domain, those that run and the promised ones judged so far; this pod joins them when it stays.
 */
function staysAllowed(workspace: Workspace, { pod, ask, bin }: Kept, settled: Settled): boolean {
  const { topology } = workspace;
  const { spread } = ask.terms;
  const isEvenFor = ({ terms }: Ask): boolean =>
    terms.spread.every((term) => isEven(term, domainFor(bin, term), settled));
  const even =
    isEvenFor(ask) || asksByTerm(workspace, ask).some((byTerm) => admitsAsk(bin, byTerm) && isEvenFor(byTerm));
  recordOnNode(topology, pod.shape, bin.capacity, -1);
  const others = { ...ask, terms: { ...ask.terms, spread: [] } };
  if (!even || !allowsBin(guardFor(workspace, others, true), bin)) {
    takeOff(bin, ask.shape, pod);
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
