/** VM, NIC, disk and computer share one name, and the kubelet registers the computer's: so the claim names its Node. */
const PREFIX = 'aks-';

/** The name of a claim's VM. */
export function vmNameOf(claim: string): string {
  return `${PREFIX}${claim}`;
}

/** The claim a VM or Node of this name belongs to, in lower case; null when the name is none of ours. */
export function claimOfVm(vmName: string): string | null {
  const name = vmName.toLowerCase();
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
}
