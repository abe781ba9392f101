import type { View } from '../view/view.ts';

/** How a wait for all pods ended. */
export type Verdict =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'all-run' }
  /** Every pod without a node has been given its reason, no node is on its way, and nothing has moved for a while. */
  | { readonly kind: 'stuck' }
  | { readonly kind: 'too-late' };

/** Long enough for a Deployment of thousands on a busy machine. */
const WAIT_MS = 10 * 60_000;
/** Nothing has moved for this long; a plan takes a second, and a NodePool becomes ready in two. */
const STILL_MS = 8_000;

/** Judges one view after the other; times in milliseconds since the start of the wait. */
export function createPodsWait(wantedPods: number): (view: View, elapsedMs: number) => Verdict {
  let lastMoved = '';
  let movedAtMs = 0;
  return (view, elapsedMs) => {
    const { running, starting, pending } = view.pods;
    if (running >= wantedPods && starting === 0 && pending === 0) return { kind: 'all-run' };
    if (elapsedMs > WAIT_MS) return { kind: 'too-late' };
    const moved = JSON.stringify([view.pods, view.nodes.map(({ name, state, pods }) => [name, state, pods])]);
    if (moved !== lastMoved) {
      lastMoved = moved;
      movedAtMs = elapsedMs;
    }
    const explained = view.waiting.reduce((sum, { pods }) => sum + pods.length, 0);
    // Nobody here takes off a startup taint that is none of AKS's, and pods that wait for it have no other reason.
    const tainted = view.nodes.filter(({ state }) => state.kind === 'tainted').length;
    const ready = view.nodes.filter(({ state }) => state.kind === 'ready').length;
    const isStill = ready + tainted === view.nodes.length && starting === 0;
    const isStuck =
      isStill && pending > 0 && (explained >= pending || tainted > 0) && elapsedMs - movedAtMs >= STILL_MS;
    return { kind: isStuck ? 'stuck' : 'waiting' };
  };
}
