import { movedTo, settleOn, settledValue, type OpenClaim } from '../state/open-claim.ts';
import { crowdByInput } from '../crowding/crowd-hosts.ts';
import { cheapestNow } from '../state/joining.ts';
import type { FewestLeft } from './fewest-left.ts';
import { at } from '../../quantity/at.ts';
import { putOnNode } from '../one-by-one/place.ts';
import { type PoolState } from '../../offerings/pool-state.ts';
import { recordOnClaim } from '../state/topology.ts';
import { workspaceFor, type CompiledInput, type Workspace } from '../state/workspace.ts';

/** The same places at the weighedPrices of the input: each claim as cheap as limits let it be. */
export function atRealPrices(compiled: CompiledInput, { onNodes, claims }: FewestLeft): Workspace {
  const workspace = workspaceFor(compiled);
  crowdByInput(workspace);
  onNodes.forEach((pods, index) => {
    const node = workspace.nodes[index];
    for (const pod of pods) {
      const need = workspace.needs.get(pod.shape)?.at(-1);
      if (node !== undefined && need !== undefined) putOnNode(workspace, node, need, pod);
    }
  });
  for (const claim of claims) reopen(workspace, claim);
  cheapen(workspace);
  return workspace;
}

function reopen(workspace: Workspace, claim: OpenClaim): void {
  const state = workspace.pools.find(({ pool }) => pool.name === claim.state.pool.name);
  const { chosen } = claim;
  const opened = state === undefined || chosen === null ? null : movedTo(state, claim, priceOf(state, chosen));
  if (opened === null) throw new Error('a claim was placed without a size');
  workspace.claims.push(opened);
  for (const { shape } of opened.pods) {
    recordOnClaim(workspace.topology, shape, opened, (key) => settledValue(opened, key));
  }
}

function priceOf({ pool }: PoolState, { type, bit }: { readonly type: number; readonly bit: number }) {
  const { weighedPrices } = pool.catalog.types[type] ?? { weighedPrices: [] };
  return { price: at(weighedPrices, bit), shunned: pool.shunned[type] === 1 };
}

/** A claim that becomes cheaper may leave a limit more for the next: so often all are looked at again. */
const MOST_PASSES = 10;

/** Makes every claim, in place, as cheap as what limits leave allows; no pod moves. */
export function cheapen({ claims }: Workspace): void {
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const changed = claims.filter((claim) => makeCheaper(claim));
    if (changed.length === 0) return;
  }
}

function makeCheaper(claim: OpenClaim): boolean {
  const { booked, chosen } = claim;
  const now = cheapestNow(claim);
  if (now === null || chosen === null || booked === null) return false;
  const isSame = now.chosen.type === chosen.type && now.chosen.bit === chosen.bit;
  if (isSame || (now.chosen.price === chosen.price && now.chosen.shunned === chosen.shunned)) return false;
  settleOn(claim, now);
  return true;
}
