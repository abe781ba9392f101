import { simulate, type Simulated } from './first-fit.ts';
import { budgetOf, carryOut, isCandidate, isQuiet, type Removal, type Remover } from './remover.ts';
import { isReady, launch, type SimNode, type World } from './world.ts';

interface Command {
  readonly kind: 'empty' | 'multi' | 'single';
  readonly going: ReadonlyArray<SimNode>;
  /** Null: nothing comes in their place. */
  readonly replacement: NonNullable<Simulated['claim']> | null;
}

/** Karpenter's bound on the nodes of one command. */
const MOST_AT_ONCE = 100;

/** What has not changed is looked at again after five minutes. */
const MEMO_TICKS = 20;

/**
 * Karpenter's disruption in our words (core at v1.14): emptiness, then multi-node and single-node consolidation; the
 * first that has a command ends the pass, it is judged again after 15 seconds, the next turn, in which nothing else is
 * decided, and then a replacement comes first.
 */
export function karpenter(): Remover {
  let command: Command | null = null;
  let seen = { changes: -1, tick: 0 };
  const waiting = new Set<Removal>();
  return (world) => {
    for (const removal of waiting) {
      if (removal.coming.some((node) => world.nodes.has(node.name) && !isReady(world, node))) continue;
      carryOut(world, removal);
      waiting.delete(removal);
    }
    if (command !== null) {
      const removal = validated(world, command);
      command = null;
      if (removal !== null) waiting.add(removal);
      return;
    }
    if (seen.changes === world.changes && world.tick - seen.tick < MEMO_TICKS) return;
    seen = { changes: world.changes, tick: world.tick };
    command = commandFor(world);
    // Quiet comes with time alone: whoever waits for it is looked at again.
    if (command === null && [...world.nodes.values()].some((node) => !isQuiet(world, node))) seen.changes = -1;
  };
}

function commandFor(world: World): Command | null {
  const budget = budgetOf(world);
  const candidates = [...world.nodes.values()].filter((node) => isCandidate(world, node));
  const empty = candidates.filter(({ pods }) => pods.size === 0).slice(0, budget);
  if (empty.length > 0) return { kind: 'empty', going: empty, replacement: null };
  const ratio = ({ type, pods }: SimNode): number => type.price / (1 + pods.size);
  const sorted = candidates
    .filter(({ pods }) => pods.size > 0)
    .toSorted((a, b) => ratio(b) - ratio(a) || (a.name < b.name ? -1 : 1));
  if (budget === 0) return null;
  return multi(world, sorted.slice(0, Math.min(budget, MOST_AT_ONCE))) ?? single(world, sorted);
}

/** The longest prefix that a binary search finds. */
function multi(world: World, sorted: ReadonlyArray<SimNode>): Command | null {
  let best: Command | null = null;
  let [low, high] = [1, sorted.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const command = compute(world, 'multi', sorted.slice(0, middle + 1));
    if (command !== null) best = command;
    if (command !== null) low = middle + 1;
    else high = middle - 1;
  }
  return best;
}

function single(world: World, sorted: ReadonlyArray<SimNode>): Command | null {
  for (const node of sorted) {
    const command = compute(world, 'single', [node]);
    if (command !== null) return command;
  }
  return null;
}

/** Delete them, or put one cheaper node in their place; null for neither. */
function compute(world: World, kind: Command['kind'], going: ReadonlyArray<SimNode>): Command | null {
  const simulated = simulate(world, going, (node) => isQuiet(world, node));
  if (simulated === null) return null;
  if (simulated.claim === null) return { kind, going, replacement: null };
  const paid = going.reduce((sum, { type }) => sum + type.price, 0);
  let options = simulated.claim.options.filter(({ price }) => price < paid);
  if (kind === 'multi') {
    // Else one of them would be made anew.
    const same = going.filter(({ type }) => options.includes(type)).map(({ type }) => type.price);
    if (same.length > 0) options = options.filter(({ price }) => price < Math.min(...same));
  }
  return options.length === 0 ? null : { kind, going, replacement: { ...simulated.claim, options } };
}

/** Everything is looked at again; null where it does not hold any more. */
function validated(world: World, { kind, going, replacement }: Command): Removal | null {
  const hold = going.every((node) => world.nodes.has(node.name) && isCandidate(world, node));
  if (!hold || going.length > budgetOf(world)) return null;
  if (kind === 'empty') return going.every(({ pods }) => pods.size === 0) ? begin(going, []) : null;
  const again = compute(world, kind, going);
  if (again === null || (again.replacement === null) !== (replacement === null)) return null;
  const [chosen] = again.replacement?.options ?? [];
  if (chosen === undefined) return begin(going, []);
  if (replacement?.options.includes(chosen) !== true) return null;
  return begin(going, [launch(world, chosen.type.name, again.replacement?.zone ?? '')]);
}

function begin(going: ReadonlyArray<SimNode>, coming: ReadonlyArray<SimNode>): Removal {
  for (const node of going) node.isLeaving = true;
  return { going, coming };
}
