import type { DisruptionStep } from '../../../core/disruption/plan/disruption-plan.ts';
import type { Candidate } from '../../../core/disruption/second-look/begun.ts';
import type { Plan } from '../../../core/model/plan.ts';
import { renderCount, renderFirst } from '../../../core/quantity/render-count.ts';
import { renderMoney } from '../../../core/quantity/render-usd.ts';
import { renderOffering } from '../../../core/telling/cheaper/size-reason.ts';
import { label } from '../../../contract/names.ts';
import { type EventNote, publish } from '../../tell/events.ts';
import { eventAbout } from '../../claims/node-claim.ts';
import type { Gathered } from '../../gather/gather.ts';
import { inParallel } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';
import { eventAboutNode, eventAboutPool } from '../../tell/event-about.ts';

/** Nodes told of one decision; the decision's record has them all. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;
/** Places of its pods, and replacements, that an event names before it counts the rest. */
const NAMED_MAX = 5;

/** A step as it was committed. */
export interface BegunStep {
  readonly decision: string;
  readonly step: Pick<DisruptionStep, 'reason' | 'remove' | 'moves' | 'saved'>;
  readonly candidates: ReadonlyArray<Candidate>;
  /** Where provisioning has put the pods of the nodes that go. */
  readonly plan: Pick<Plan, 'claims' | 'nominations'>;
  /** In the order of the plan's claims. */
  readonly claimNames: ReadonlyArray<string>;
}

/**
 * Tells on each node that is to be removed, on its claim and on its NodePool what the removal saves, what replaces the
 * node and where its pods go: later, when the node has gone, `kubectl describe` of its pool and the events still say
 * why.
 */
export async function tellBegun(
  ports: Ports,
  { snapshot }: Pick<Gathered, 'snapshot'>,
  begun: BegunStep,
): Promise<void> {
  const { candidates } = begun;
  const { currency } = ports.catalogs;
  const perPool = Map.groupBy(candidates, ({ node }) => node.metadata.labels?.[label.nodePool] ?? '');
  const pools = snapshot.nodePools.filter(({ metadata }) => perPool.has(metadata.name));
  const notes: ReadonlyArray<EventNote> = [
    ...candidates.slice(0, TOLD_MAX).flatMap(({ node, claim }) => {
      const message = `To be removed: ${renderBegun(begun, [node.metadata.name], currency)}`;
      return [
        eventAboutNode(node, 'Normal', 'DisruptionPlanned', message),
        eventAbout(claim, 'Normal', 'DisruptionPlanned', message),
      ];
    }),
    ...pools.map((pool) => {
      const own = (perPool.get(pool.metadata.name) ?? []).map(({ node }) => node.metadata.name);
      const message = `Decision ${begun.decision} removes ${renderFirst(own, NAMED_MAX, 'node')}: ${renderBegun(begun, own, currency)}`;
      return eventAboutPool(pool, 'Normal', 'DisruptionPlanned', message);
    }),
  ];
  await inParallel(notes, TOLD_AT_ONCE, (note) => publish(ports.kubernetes, note, ports.now()));
}

/**
 * `Underutilized, saves $0.194 an hour; 3 pods move to node/a (2) and nodeclaim/b (1); replaced by …`: of some of the
 * nodes that go together.
 */
function renderBegun({ step, plan, claimNames }: BegunStep, nodes: ReadonlyArray<string>, currency: string): string {
  const others = step.remove.length - nodes.length;
  const together = others === 0 ? '' : ` together with ${renderCount(others, 'other node')}`;
  const gain =
    step.saved === 0
      ? ''
      : `, ${step.saved > 0 ? 'saves' : 'costs'} ${renderMoney(Math.abs(step.saved), currency)} ${step.saved > 0 ? 'an' : 'more an'} hour${together}`;
  const replacements = plan.claims.map(
    ({ offering }, index) => `nodeclaim/${claimNames[index] ?? ''}, ${renderOffering(offering, currency)}`,
  );
  const comes = replacements.length === 0 ? '' : `; replaced by ${renderFirst(replacements, NAMED_MAX, 'nodeclaim')}`;
  return `${step.reason}${gain}; ${renderMoves({ step, plan, claimNames }, nodes)}${comes}`;
}

function renderMoves(
  { step, plan, claimNames }: Pick<BegunStep, 'step' | 'plan' | 'claimNames'>,
  nodes: ReadonlyArray<string>,
): string {
  const places = new Map([
    ...plan.nominations.flatMap(({ pods, target: { kind, name } }) =>
      pods.map(({ uid }) => [uid, `${kind === 'claim' ? 'nodeclaim' : 'node'}/${name}`] as const),
    ),
    ...plan.claims.flatMap(({ pods }, index) =>
      pods.map(({ uid }) => [uid, `nodeclaim/${claimNames[index] ?? ''}`] as const),
    ),
  ]);
  const moving = step.moves.filter(({ from }) => nodes.includes(from));
  if (moving.length === 0) return 'no pod has to move';
  const counts = Map.groupBy(moving, ({ uid }) => places.get(uid) ?? 'a node that is not known yet');
  const texts = [...counts]
    .toSorted(([a, own], [b, other]) => other.length - own.length || (a < b ? -1 : 1))
    .map(([place, own]) => `${place} (${own.length})`);
  return `${renderCount(moving.length, 'pod')} ${moving.length === 1 ? 'moves' : 'move'} to ${renderFirst(texts, NAMED_MAX, 'place')}`;
}
