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
 * replacement has failed, or others took its room: whether more is bought for them, or the marks come off, is decided
 * by the next look of disruption. Until then those that have room keep it, and the others are planned for as staying
 * where they are.
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
  const around = withoutLeaving(staying, others, instant(ports.now()));
  return makePlan(ports, gathered, keepingHomes(around, made, moving));
}

/** The pods `moving` for which the plan has a place that is there, or on its way, as waiting for that. */
function keepingHomes(around: ProvisioningInput, { plan }: MadePlan, moving: ReadonlySet<string>): ProvisioningInput {
  const homes = new Map(
    plan.nominations.flatMap(({ target, pods }) =>
      pods.flatMap(({ uid }) => (moving.has(uid) ? [[uid, target.name] as const] : [])),
    ),
  );
  const pods = around.cluster.pods.map((pod) => {
    const nominatedNodeName = homes.get(pod.uid);
    if (nominatedNodeName === undefined) return pod;
    return { ...pod, nodeName: null, nominatedNodeName, unschedulable: true, running: false };
  });
  return { ...around, cluster: { ...around.cluster, pods } };
}
