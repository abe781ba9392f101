import { counted, renderDuration, renderGap, renderHourly, shortSize, shortZone } from '../view/amounts.ts';
import type { QuotaShortage } from '../../quota/find-shortages.ts';
import type { Offering } from '../view/cluster-objects.ts';

/** Kinds of sizes that a sentence names before it counts the rest. */
const SIZES_NAMED = 4;
/** Nodes that a sentence names before it counts them ... */
const NODES_NAMED = 2;
/** ... as long as their names are together no longer than this. One is always named. */
const NAMES_LENGTH = 62;
/** What two lines of 80 columns hold beside the time in front, whatever the words are where they are broken. */
const TWO_LINES = 138;

/** Machines as people count them: `2 × D8ls_v5 + D4als_v6 (spot)`. The most frequent size comes first. */
export function renderMachines(machines: ReadonlyArray<Offering>, kindsNamed = SIZES_NAMED): string {
  const counts = new Map<string, number>();
  for (const { size, capacityType } of machines) {
    const name = `${shortSize(size)}${capacityType === 'spot' ? ' spot' : ''}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const kinds = [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const named = kinds.slice(0, kindsNamed).map(([name, count]) => (count === 1 ? name : `${count} × ${name}`));
  const others = kinds.length - named.length;
  const rest = others === 0 ? [] : [counted(others, named.length === 0 ? 'size' : 'other size')];
  return [...named, ...rest].join(' + ');
}

/** Nodes by name, or by number when they are many: `aks-a and aks-b`, `12 nodes`. */
export function renderNodes(names: ReadonlyArray<string>): string {
  const named = names.join(' and ');
  const isShort = names.length === 1 || (names.length <= NODES_NAMED && named.length <= NAMES_LENGTH);
  return isShort ? named : counted(names.length, 'node');
}

/** A decision to launch machines. */
export interface Provisioned {
  readonly machines: ReadonlyArray<Offering>;
  readonly pods: number;
  /** Pods that the room of buffers on the machines is for. */
  readonly bufferPods?: number;
  readonly left: number;
  readonly cost: number;
  readonly lowerBound: number;
}

/** `Provisioned 2 nodes (D8ls_v5 + D4als_v6) for 10 pods: $0.582/h, at most 5.0 % above the cheapest possible.` */
export function provisionedSentence({ machines, pods, bufferPods = 0, left, cost, lowerBound }: Provisioned): string {
  const gap = renderGap(cost, lowerBound);
  const rest = left === 0 ? '' : ` ${counted(left, 'more pod')} ${left === 1 ? 'has' : 'have'} no place.`;
  const room = bufferPods === 0 ? [] : [`room for ${counted(bufferPods, 'pod')}`];
  const goal = [...(pods === 0 && bufferPods > 0 ? [] : [counted(pods, 'pod')]), ...room].join(' and ');
  const tell = (kindsNamed: number): string => {
    const nodes = `${counted(machines.length, 'node')} (${renderMachines(machines, kindsNamed)})`;
    return `Provisioned ${nodes} for ${goal}: ${renderHourly(cost)}${gap === null ? '' : `, ${gap}`}.${rest}`;
  };
  for (let kinds = SIZES_NAMED; kinds > 0; kinds--) if (tell(kinds).length <= TWO_LINES) return tell(kinds);
  return tell(0);
}

/** Why a node is on demand although its NodePool allows spot. The log has until when. */
export function spotAvoidedSentence(sizes: number): string {
  return `Azure had no spot VM of ${counted(sizes, 'size')}: on-demand VMs are chosen for up to ten minutes.`;
}

/** Azure announces that a machine goes. */
export function noticeSentence(node: string, event: string, inMs: number): string {
  const seconds = Math.max(0, Math.round(inMs / 1_000));
  return event === 'preempt'
    ? `Azure will evict spot VM ${node} in ${seconds} s.`
    : `Azure announces a ${event} of VM ${node} in ${seconds} s.`;
}

/** What was done about it: its `pods` were told to go, or wait for their replacement. */
export function interruptedSentence(node: string, pods: number, wereTold: boolean): string {
  if (!wereTold) return `${node} takes no more pods; those on it wait for their replacement.`;
  return `${node} takes no more pods; ${pods === 1 ? 'the pod on it was' : `the ${pods} pods on it were`} evicted.`;
}

/** Nodes joined, and how long after their launch. */
export function joinedSentence(
  nodes: ReadonlyArray<{ readonly name: string; readonly sinceLaunchMs: number }>,
): string {
  const slowest = Math.max(...nodes.map(({ sinceLaunchMs }) => sinceLaunchMs));
  const names = renderNodes(nodes.map(({ name }) => name));
  return nodes.length === 1
    ? `${names} joined ${renderDuration(slowest)} after its launch.`
    : `${names} joined, the last ${renderDuration(slowest)} after its launch.`;
}

/** Nodes are marked to go. `saved` is what that saves, in micro-USD per hour; below 0 where it costs. */
export function begunSentence(
  nodes: ReadonlyArray<string>,
  { reason, pods, replacements, saved }: { reason: string; pods: number; replacements: number; saved: number },
): string {
  const moves = pods === 0 ? [] : [`${counted(pods, 'pod')} ${pods === 1 ? 'moves' : 'move'}`];
  const comes = replacements === 0 ? [] : [`${counted(replacements, 'new node')} first`];
  const gain = saved > 0 ? [`saves ${renderHourly(saved)}`] : [];
  return `${[`Removing ${renderNodes(nodes)} (${reason})`, ...moves, ...comes, ...gain].join(', ')}.`;
}

/** Nodes are gone, machine and all. */
export function removedSentence(nodes: ReadonlyArray<string>): string {
  return `Removed ${renderNodes(nodes)}: drained, and the VM${nodes.length === 1 ? '' : 's'} deleted.`;
}

const QUOTA_OF: Readonly<Record<string, string>> = {
  cores: 'cores of all on-demand VMs together',
  lowPriorityCores: 'cores of all spot VMs together',
  virtualMachines: 'VMs',
};

/** Pods wait for quota: which, how much of it is used, and how to raise it here. */
export function shortageSentence({ name, used, limit, pods, suggested, others }: QuotaShortage): string {
  const what = QUOTA_OF[name] ?? `cores of the family ${name}`;
  const who = `${counted(pods, 'pod')} ${pods === 1 ? 'waits' : 'wait'} for quota`;
  const use = `${used.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} ${what} ${used === 1 ? 'is' : 'are'} used`;
  const also =
    others === 0 ? '' : `, and ${counted(others, 'other quota')} ${others === 1 ? 'is' : 'are'} too low as well`;
  return `${who}: ${use}${also}. To raise it, start with --quota ${shellWord(`${name}=${suggested}`)} or more.`;
}

/** Azure has families with spaces in their names. */
function shellWord(text: string): string {
  return text.includes(' ') ? `'${text}'` : text;
}

/** An offering that Azure refused. `wasLast`: the NodeClaim had no other. */
export interface Refusal extends Offering {
  readonly reason: string;
  readonly wasLast: boolean;
}

/** Azure did not give what was asked for. */
export function refusedSentence(refusals: ReadonlyArray<Refusal>): string {
  const [first] = refusals;
  if (first === undefined) return '';
  const { size, zone, reason } = first;
  const where = zone === '' ? '' : ` in zone ${shortZone(zone)}`;
  const more = refusals.length > 1 ? `, and ${refusals.length - 1} more` : '';
  const next = refusals.every(({ wasLast }) => wasLast) ? 'the pods are planned again' : 'trying the next best';
  return `Azure refuses ${shortSize(size)}${where} (${reason})${more}: ${next}.`;
}
