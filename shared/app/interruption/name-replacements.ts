import { annotation } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Plan } from '../../core/model/plan.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import type { Gathered } from '../gather/gather.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { inParallel } from '../ports/in-parallel.ts';
import { initializedNodes } from '../../core/present/initialized-nodes.ts';
import { claimOfVm } from '../../contract/vm-name.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { annotateClaim } from '../claims/annotate-claim.ts';
import { interruptedAmong } from '../facts/interrupted.ts';
import { orRefused } from '../claims/or-refused.ts';

/** Claims told at once; each is one write. */
const TOLD_AT_ONCE = 16;

/**
 * Tells the claims whose pods wait for it which claims are made for them: those of this plan, called `claimNames`, and
 * those on their way that it counts on. Where there are none, their pods have room and go. What cannot be written now
 * is not waited for: the pods go when the time for it is over.
 */
export async function nameReplacements(
  ports: Ports,
  { snapshot }: Pick<Gathered, 'snapshot'>,
  plan: Plan,
  claimNames: ReadonlyArray<string>,
): Promise<void> {
  const waiting = interruptedAmong(snapshot.nodeClaims).filter(isWaiting);
  await inParallel(waiting, TOLD_AT_ONCE, async (claim) => {
    const moving = podsOn(snapshot, claim);
    const own = claimNames.filter((_, index) => plan.claims[index]?.pods.some(({ uid }) => moving.has(uid)) === true);
    await name(ports, claim, [...own, ...claimsOnTheirWay(plan, snapshot, moving)]);
  });
}

async function name(ports: Ports, claim: NodeClaim, names: ReadonlyArray<string>): Promise<void> {
  const { name: own, uid = '' } = claim.metadata;
  const outcome = await orRefused(ports, claim, 'name-replacements', async () => {
    // A notice with less time may have come meanwhile: then nothing is waited for, and it stays so.
    const read = await ports.kubernetes.get('NodeClaim', { name: own, namespace: null });
    if (read === null) return 'absent';
    return annotateClaim(ports, read, (fresh) =>
      isWaiting(fresh)
        ? {
            [annotation.replacementDue]: null,
            ...(names.length === 0 ? {} : { [annotation.replacedBy]: names.join(',') }),
          }
        : null,
    );
  });
  if (outcome === 'absent') return;
  await hintObjects(ports, claimsNamed([own]), { reason: 'replacements-named', occasion: `named/${uid}` });
}

function isWaiting({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.replacementDue] !== undefined;
}

function podsOn({ pods }: Snapshot, claim: NodeClaim): ReadonlySet<string> {
  return new Set(pods.filter(({ nodeName }) => nodeName === nodeNameOf(claim)).map(({ uid }) => uid));
}

/** Claims of earlier plans that this one counts on for the node's pods, and that have no node in use yet. */
function claimsOnTheirWay(plan: Plan, snapshot: Snapshot, moving: ReadonlySet<string>): ReadonlyArray<string> {
  const inUse = initializedNodes(snapshot);
  return plan.nominations
    .filter(({ pods, target }) => !inUse.has(target.name) && pods.some(({ uid }) => moving.has(uid)))
    .flatMap(({ target }) => (target.kind === 'claim' ? target.name : (claimOfVm(target.name) ?? [])));
}
