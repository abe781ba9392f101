import { vmNameOf } from '../../contract/vm-name.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';

/** Where to look for the claim's Node: what its status says, else the name its VM will register with. */
export function nodeNameOf(claim: NodeClaim): string {
  return claim.status?.nodeName ?? vmNameOf(claim.metadata.name);
}
