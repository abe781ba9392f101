import type { SignalHint } from '../../contract/messages.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { claimOfVm } from '../node-name.ts';
import type { Ports } from '../ports.ts';
import { isSameId } from '../same-id.ts';

/** Finds the claim of the machine that a signal is about; null when it is none of ours. */
export async function findClaim(
  ports: Pick<Ports, 'kubernetes'>,
  signal: Pick<SignalHint, 'vmId' | 'nodeName'>,
): Promise<NodeClaim | null> {
  const names = [signal.vmId?.split('/').at(-1), signal.nodeName].flatMap((name) => {
    const claim = name === undefined || name === null ? null : claimOfVm(name);
    return claim === null ? [] : [claim];
  });
  for (const name of new Set(names)) {
    // At most two names, and the first nearly always decides.
    // oxlint-disable-next-line no-await-in-loop
    const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
    if (claim !== null) return isAbout(signal, claim) ? claim : null;
  }
  return null;
}

/** Azure tells of all machines of a subscription: one of another cluster may have the name of ours. */
function isAbout({ vmId }: Pick<SignalHint, 'vmId'>, claim: NodeClaim): boolean {
  const { providerID } = claim.status ?? {};
  return vmId === null || providerID === undefined || isSameId(`azure://${vmId}`, providerID);
}
