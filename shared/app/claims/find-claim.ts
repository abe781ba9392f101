import type { SignalHint } from '../../contract/messages/messages.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { claimOfVm } from '../../contract/vm-name.ts';
import type { Ports } from '../ports/ports.ts';
import { isSameId } from '../facts/same-id.ts';

/**
 * Finds the claim of the machine that a signal is about; null when it is none of ours. Throws RetryableError where that
 * cannot be known now.
 */
export async function findClaim(
  ports: Pick<Ports, 'kubernetes' | 'cloud'>,
  signal: Pick<SignalHint, 'vmId' | 'nodeName'>,
): Promise<NodeClaim | null> {
  const names = [signal.vmId?.split('/').at(-1), signal.nodeName].flatMap((name) => {
    const claim = name === undefined || name === null ? null : claimOfVm(name);
    return claim === null ? [] : [claim];
  });
  for (const name of new Set(names)) {
    // At most two names, and the first nearly always decides.
    const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
    if (claim !== null) return (await isAbout(ports, signal, claim)) ? claim : null;
  }
  return null;
}

/**
 * Azure tells of all machines of a subscription: one of another cluster may have the name of ours. A claim that does
 * not know its own machine yet has the one that Azure shows under its name.
 */
async function isAbout(
  ports: Pick<Ports, 'cloud'>,
  { vmId }: Pick<SignalHint, 'vmId'>,
  { metadata, status }: NodeClaim,
): Promise<boolean> {
  if (vmId === null) return true;
  if (status?.providerID !== undefined) return isSameId(`azure://${vmId}`, status.providerID);
  const observed = await ports.cloud.observe(metadata.name);
  return observed.kind !== 'gone' && isSameId(`azure://${vmId}`, observed.machine.providerId);
}
