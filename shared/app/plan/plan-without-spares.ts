import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { begunIn, cordoned } from '../../core/disruption/second-look/begun.ts';
import { instant } from '../../core/quantity/units.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { isInterrupted } from '../facts/interrupted.ts';
import { makePlan, type MadePlan } from './make-plan.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * What a plan was made from: an input with all nodes, and the names of nodes and claims that leave, `leavingNames`
 * among them.
 */
interface Leaving {
  readonly from: ProvisioningInput;
  readonly leaving: ReadonlyArray<string>;
}

/**
 * The plan, or one in its place without what it has too much.
 *
 * What replaces nodes that disruption has marked was decided with the marks. Where their pods would need more, a
 * replacement has failed, or others took its room: the marks come off then, and whatever was launched for these pods
 * would be too much. So they are planned for as staying where they are.
 */
export function planWithoutSpares(ports: Ports, made: MadePlan, { from, leaving }: Leaving): MadePlan {
  const { gathered } = made;
  const marked = begunIn(gathered.snapshot)
    .flatMap(({ candidates }) => candidates)
    // One that Azure takes back goes whatever disruption has decided about it.
    .filter(({ claim }) => !isInterrupted(claim));
  if (marked.length === 0) return made;
  const names = new Set(marked.map(({ node }) => node.metadata.name));
  const { pods } = gathered.snapshot;
  const moving = new Set(pods.filter(({ nodeName }) => names.has(nodeName ?? '')).map(({ uid }) => uid));
  if (!made.plan.claims.some((claim) => claim.pods.some(({ uid }) => moving.has(uid)))) return made;
  const staying = { ...from, cluster: { ...from.cluster, nodes: cordoned(from.cluster.nodes, names) } };
  const others = leaving.filter((name) => !names.has(name));
  return makePlan(ports, gathered, withoutLeaving(staying, others, instant(ports.now())));
}
