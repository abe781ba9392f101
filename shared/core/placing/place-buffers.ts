import type { BufferedInput } from '../present/buffer-pods.ts';
import { placeByTerm } from './one-by-one/place-by-term.ts';
import { keepPromises } from './one-by-one/promises.ts';
import { placeClasses, rulesFor } from './place-classes.ts';
import type { PlacedPods } from './place-pods.ts';
import { largestFirst } from './state/pod-order.ts';
import { extendWorkspace, type CompiledInput } from './state/workspace.ts';
import { balanceZones } from './together/balance-zones.ts';

/** What buffers may take beside the work of placing pods. */
const BUFFER_SHARE = 0.3;

/**
 * Buffers come after all pods, on what these leave free: where pods go, and why one is left, does not depend on them.
 * `before` is what `placed` was placed by; the workspace of `placed` is not used any more. Returns the buffers' pods as
 * `left`.
 */
export function placeBuffers(placed: PlacedPods, before: CompiledInput, { input, buffers }: BufferedInput): PlacedPods {
  const spare = buffers.flatMap((buffer) => buffer.pods);
  const workspace = extendWorkspace(placed.workspace, { ...before, input }, spare);
  const own = new Set(spare.map(({ shape }) => shape));
  const rules = new Map([...rulesFor(workspace)].filter(([shape]) => own.has(shape)));
  const solved = [...placed.solved];
  const work = { left: input.work.operations * BUFFER_SHARE };
  const open = largestFirst(workspace, keepPromises(workspace, spare));
  const left = placeByTerm(
    workspace,
    placeClasses(workspace, { rules, order: 'one-by-one-first', work, solved }, [open]),
  );
  balanceZones(workspace);
  return { ...placed, workspace, left, solved };
}
