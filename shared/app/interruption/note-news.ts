import { eventAbout } from '../claims/node-claim.ts';
import { publish } from '../tell/events.ts';
import { findClaim } from '../claims/find-claim.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Writes what Azure says of a machine down as an event of its NodeClaim. The answer is the claim; null when it is none
 * of ours.
 */
export async function noteNews(
  ports: Ports,
  { vmId, text }: { readonly vmId: string; readonly text: string },
): Promise<string | null> {
  const claim = await findClaim(ports, { vmId, nodeName: null });
  if (claim === null) return null;
  await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'HealthAnnotation', text), ports.now());
  return claim.metadata.name;
}
