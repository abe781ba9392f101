import { sinceNoticeMs } from '../facts/replacing.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { claimFacts, machineFacts } from '../facts/claim-facts.ts';
import { isTrue } from '../facts/conditions.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { tellTransitions } from './tell-transitions.ts';
import { type StatusChange, commitStatus, createdAtMs, transitionMs, withStatus } from './node-claim.ts';

/**
 * A claim as this execution has read it, and as the steps that have been taken since will have its status written:
 * steps that follow each other at once are one write. Who loses it by a crash takes the same steps again, as nothing
 * tells of them yet.
 */
export interface Draft {
  readonly read: NodeClaim;
  readonly claim: NodeClaim;
}

/** One in which nothing has changed yet. */
export function draftOf(claim: NodeClaim): Draft {
  return { read: claim, claim };
}

/** With one step's change of the status. */
export function noted(ports: Ports, { read, claim }: Draft, change: StatusChange): Draft {
  return { read, claim: withStatus(claim, change, ports.now()) };
}

/**
 * Writes what has been noted, on condition that nobody has written since the claim was read, and logs how far the claim
 * has come with it. Returns the claim as it is then. Throws RetryableError on a conflict.
 */
export async function commit(ports: Ports, { read, claim }: Draft): Promise<NodeClaim> {
  const written = await commitStatus(ports, read, claim);
  const hasBecome = (type: string): boolean =>
    isTrue(claim.status?.conditions, type) && !isTrue(read.status?.conditions, type);
  await tellTransitions(ports, read, written);
  const node = nodeNameOf(claim);
  if (hasBecome('Registered')) {
    ports.log('nodeclaim-registered', {
      ...claimFacts(claim),
      node,
      sinceLaunchMs: ports.now() - transitionMs(claim, 'Launched'),
    });
  }
  if (hasBecome('Initialized')) {
    ports.log('nodeclaim-initialized', {
      ...claimFacts(claim),
      ...machineFacts(claim),
      node,
      sinceCreatedMs: ports.now() - createdAtMs(claim),
      sinceNoticeMs: sinceNoticeMs(claim, ports.now()),
    });
  }
  return written;
}
