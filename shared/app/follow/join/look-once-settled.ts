import { annotation } from '../../../contract/names.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { SETTLING_MS } from '../../gather/gather.ts';
import type { Ports } from '../../ports/ports.ts';

/** Looks after nodes have been opened are gathered into slots of this length. */
const SETTLED_SLOT_MS = 5_000;

/**
 * Pods whose room somebody else took keep their promise until the node counts as settled; nothing in the cluster
 * changes then, so the look that finds them is asked for when everybody has been let in. Nodes of one decision that
 * come together share it.
 */
export async function lookOnceSettled(ports: Ports, claim: NodeClaim): Promise<void> {
  const slot = Math.ceil((ports.now() + SETTLING_MS) / SETTLED_SLOT_MS) + 1;
  const hint = { kind: 'pods', version: 1, cluster: ports.cluster, snapshot: null, reason: 'nodes-settled' } as const;
  const decision = claim.metadata.annotations?.[annotation.decision] ?? claim.metadata.name;
  await ports.hints.send([{ hint, atMs: slot * SETTLED_SLOT_MS, key: `settled/${decision}/${slot}` }]);
}
