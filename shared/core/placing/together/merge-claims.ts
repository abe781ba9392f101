import { addAmounts, type Amounts } from '../../../kubernetes/text/quantity.ts';
import { portsConflict } from '../../rules/host-ports.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { wantsMinValues } from '../../offerings/min-values.ts';
import {
  giveUp,
  narrow,
  settleOn,
  bothOffered,
  plainPriceOf,
  reservationOf,
  type ChosenOffering,
  type OpenClaim,
} from '../state/open-claim.ts';
import { cheapestNow } from '../state/joining.ts';
import { type PoolState } from '../../offerings/pool-state.ts';
import { addVector } from '../../quantity/resource-table.ts';
import type { Workspace } from '../state/workspace.ts';
import { areSettledAlike, countElsewhere, lookedAtKeys } from './settled-alike.ts';

/** Pairs of kinds of claims that are looked at: all pairs of thirty kinds, a few hundredths of a second. */
const MOST_PAIRS = 465;

/**
 * Joins claims, in place, two by two where one node holds the pods of both and counts as no more: each node has daemons
 * of its own, an address, and its time to start. Only claims whose labels that rules about other pods look at stay as
 * they are, so that it is nobody else's concern on which node they are. With all pods placed: what is given back of
 * limits is for nobody.
 */
export function mergeClaims(workspace: Workspace): void {
  if (workspace.devices !== null || workspace.claims.length < 2) return;
  for (const state of workspace.pools) {
    if (!wantsMinValues(state)) mergeInPool(workspace, state);
  }
}

/** Claims that are alike in all that decides whether they can be joined. */
interface Kind {
  readonly id: string;
  readonly claims: Array<OpenClaim>;
  isDone: boolean;
}

function mergeInPool(workspace: Workspace, state: PoolState): void {
  const kinds = new Map<string, Kind>();
  const keysOf = keysByShape(workspace);
  const idOf = idsFor();
  const add = (claim: OpenClaim): void => {
    const id = idOf(claim);
    const kind = kinds.get(id) ?? { id, claims: [], isDone: false };
    kind.claims.push(claim);
    kinds.set(id, kind);
  };
  for (const claim of workspace.claims) if (claim.state === state && isMovable(workspace, claim, keysOf)) add(claim);
  const gone = new Set<OpenClaim>();
  let pairs = 0;
  // Ends: every turn finishes a kind, and every new kind has one claim less than there were.
  for (let kind = nextOf(kinds); kind !== null && pairs < MOST_PAIRS; kind = nextOf(kinds)) {
    kind.isDone = true;
    for (const other of [...kinds.values()].toSorted(byPrice).slice(0, MOST_PAIRS - pairs)) {
      pairs++;
      for (const [joined, absorbed] of joinAll(workspace, kind, other, keysOf)) {
        gone.add(absorbed);
        add(joined);
      }
    }
  }
  if (gone.size === 0) return;
  const kept = workspace.claims.filter((claim) => !gone.has(claim));
  workspace.claims.splice(0, workspace.claims.length, ...kept);
}

type Pair = readonly [OpenClaim, OpenClaim];

/**
 * Joins claims of the one kind with those of the other as long as that can be: takes them from both, and returns them.
 */
function joinAll(workspace: Workspace, kind: Kind, other: Kind, keysOf: KeysOfShape): ReadonlyArray<Pair> {
  const joined: Array<Pair> = [];
  for (let pair = pairOf(kind, other); pair !== null; pair = pairOf(kind, other)) {
    const found = nodeForBoth(workspace, pair[0], pair[1], keysOf);
    if (found === null) break;
    kind.claims.pop();
    other.claims.pop();
    absorb(workspace, pair, found);
    joined.push(pair);
  }
  return joined;
}

/** Tells kinds apart; sets of offerings by being the same array. */
function idsFor(): (claim: OpenClaim) => string {
  const numbers = new Map<Int32Array, number>();
  return ({ chosen, offered, bits, load, ports }) => {
    const number = numbers.get(offered) ?? numbers.size;
    numbers.set(offered, number);
    const taken = ports.map(({ ip, port, protocol }) => `${ip}:${port}/${protocol}`);
    return [chosen?.type, chosen?.bit, number, bits, load.join(' '), ...taken].join(' | ');
  };
}

/** Labels by which rules look at pods of a shape; null where such pods must stay where they are. */
type KeysOfShape = (shape: number) => ReadonlyArray<string> | null;

function keysByShape(workspace: Workspace): KeysOfShape {
  const known = new Map<number, ReadonlyArray<string> | null>();
  return (shape) => {
    const keys = known.has(shape) ? (known.get(shape) ?? null) : lookedAtKeys(workspace, shape);
    known.set(shape, keys);
    return keys;
  };
}

function isMovable({ needs }: Workspace, claim: OpenClaim, keysOf: KeysOfShape): boolean {
  if (claim.chosen === null || claim.booked === null || claim.open.size > 0) return false;
  if (reservationOf(claim, claim.chosen) !== null) return false;
  return claim.pods.every(
    ({ shape }) =>
      keysOf(shape) !== null && (needs.get(shape) ?? []).every((need) => need.shape.attachments.length === 0),
  );
}

/** Small nodes first: of their price most goes to what every node needs. */
function nextOf(kinds: ReadonlyMap<string, Kind>): Kind | null {
  return [...kinds.values()].filter(({ isDone, claims }) => !isDone && claims.length > 0).toSorted(byPrice)[0] ?? null;
}

function byPrice(a: Kind, b: Kind): number {
  return (a.claims[0]?.chosen?.price ?? 0) - (b.claims[0]?.chosen?.price ?? 0) || byCodeUnit(a.id, b.id);
}

/** The last claims of both kinds; null when there are not two. */
function pairOf(kind: Kind, other: Kind): Pair | null {
  const one = kind.claims.at(-1);
  const two = other.claims.at(kind === other ? -2 : -1);
  return one === undefined || two === undefined ? null : [one, two];
}

/** One node for the pods of both, as if it were a claim. */
function jointOf(workspace: Workspace, one: OpenClaim, two: OpenClaim): OpenClaim {
  const { reservedBits } = one.state.pool.catalog;
  const load = one.load.slice();
  for (const { shape } of two.pods) addVector(load, workspace.shapes.get(shape)?.requests ?? NOTHING, 1);
  return {
    ...one,
    offered: bothOffered(one.state, one.offered, two.offered),
    bits: one.bits & two.bits & ~reservedBits,
    from: Math.max(one.from, two.from),
    load,
    booked: addAmounts(addAmounts(new Map(), one.booked ?? new Map()), two.booked ?? new Map()),
  };
}

const NOTHING = new Float64Array();

/** What the node for both would be; null where there is none that counts as no more than the two. */
function nodeForBoth(workspace: Workspace, one: OpenClaim, two: OpenClaim, keysOf: KeysOfShape): NodeForBoth | null {
  if (portsConflict(one.ports, two.ports)) return null;
  const keys = new Set([...one.pods, ...two.pods].flatMap(({ shape }) => keysOf(shape) ?? []));
  if (!areSettledAlike(one, two, keys)) return null;
  const joint = jointOf(workspace, one, two);
  const found = cheapestNow(joint);
  if (found === null || !isNoWorse(found.chosen, one, two)) return null;
  if (!areSettledAlike(one, { ...joint, chosen: found.chosen }, keys)) return null;
  return { offered: joint.offered, bits: joint.bits, from: joint.from, ...found };
}

type NodeForBoth = Pick<OpenClaim, 'offered' | 'bits' | 'from'> & {
  readonly chosen: ChosenOffering;
  readonly booked: Amounts;
};

/** Where both count as much, prices without risk decide. */
function isNoWorse(chosen: ChosenOffering, one: OpenClaim, two: OpenClaim): boolean {
  if (chosen.shunned && !(one.chosen?.shunned === true && two.chosen?.shunned === true)) return false;
  const before = (one.chosen?.price ?? 0) + (two.chosen?.price ?? 0);
  if (chosen.price !== before) return chosen.price < before;
  return plainPriceOf({ state: one.state, chosen }) <= plainPriceOf(one) + plainPriceOf(two);
}

/** Makes the first claim the node for the pods of both. */
function absorb(workspace: Workspace, [one, two]: Pair, { offered, bits, from, chosen, booked }: NodeForBoth): void {
  giveUp(two);
  narrow(one, { offered, bits, from });
  settleOn(one, { chosen, booked });
  one.pods.push(...two.pods);
  one.ports.push(...two.ports);
  for (const { shape } of two.pods) addVector(one.load, workspace.shapes.get(shape)?.requests ?? NOTHING, 1);
  countElsewhere(workspace, two, one);
}
