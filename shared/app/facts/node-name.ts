import type { NodeClaim } from '../../kubernetes/manifest.ts';

/** VM, NIC, disk and computer share one name, and the kubelet registers the computer's: so the claim names its Node. */
const PREFIX = 'aks-';

export function vmNameOf(claim: string): string {
  return `${PREFIX}${claim}`;
}

/** The claim a VM or Node of this name belongs to; null when the name is none of ours. */
export function claimOfVm(vmName: string): string | null {
  const name = vmName.toLowerCase();
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
}

/** Where to look for the claim's Node: what its status says, else the name its VM will register with. */
export function nodeNameOf(claim: NodeClaim): string {
  return claim.status?.nodeName ?? vmNameOf(claim.metadata.name);
}
