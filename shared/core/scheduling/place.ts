import type { Pod } from '../model/cluster.ts';
import { admitsShape, fill, hasRoom } from './bins.ts';
import type { CompiledShape } from './compile-shape.ts';
import { emptyClaim, isCheaper, join, joiningOf, type Joining } from './open-claim.ts';
import { optionsFor, type Workspace } from './workspace.ts';

/** Puts the pod on existing capacity, on a claim of this plan or on a new one; false when nothing can hold it. */
export function place(workspace: Workspace, shape: CompiledShape, pod: Pod): boolean {
  return placeOnExisting(workspace, shape, pod) || placeOnClaim(workspace, shape, pod);
}

/** The first bin in order that takes the pod. */
export function placeOnExisting(workspace: Workspace, shape: CompiledShape, pod: Pod): boolean {
  const bin = workspace.bins.find((candidate) => hasRoom(candidate, shape) && admitsShape(candidate, shape));
  if (bin === undefined) return false;
  fill(bin, shape, pod);
  return true;
}

/** What adds least to the price; a claim that is open wins over a new one of the same added price. */
function placeOnClaim(workspace: Workspace, shape: CompiledShape, pod: Pod): boolean {
  const chosen = bestJoining(workspace, shape) ?? null;
  const opening = bestOpening(workspace, shape);
  const better = chosen === null || (opening !== null && isClearlyCheaper(opening, chosen)) ? opening : chosen;
  if (better === null) return false;
  if (better === opening) workspace.claims.push(better.claim);
  join(better, shape, pod);
  return true;
}

function bestJoining(workspace: Workspace, shape: CompiledShape): Joining | null {
  let best: Joining | null = null;
  for (const claim of workspace.claims) {
    const joining = joiningOf(claim, shape, optionsFor(workspace, claim.state, shape));
    if (joining !== null && (best === null || isClearlyCheaper(joining, best))) best = joining;
  }
  return best;
}

/** On the heaviest pools that can take the pod, the cheapest. */
function bestOpening(workspace: Workspace, shape: CompiledShape): Joining | null {
  let best: Joining | null = null;
  for (const state of workspace.pools) {
    if (best !== null && best.claim.state.pool.weight > state.pool.weight) break;
    const options = optionsFor(workspace, state, shape);
    if (options.length === 0) continue;
    const joining = joiningOf(emptyClaim(state, workspace.dimensions.names.length), shape, options);
    if (joining !== null && (best === null || isCheaper(joining.cell, best.cell))) best = joining;
  }
  return best;
}

function isClearlyCheaper(a: Joining, b: Joining): boolean {
  return a.cell.shunned === b.cell.shunned ? a.added < b.added : !a.cell.shunned;
}
