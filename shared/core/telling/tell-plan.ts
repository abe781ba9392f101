import type { Pod } from '../model/cluster.ts';
import type { LeftPod, Nomination, Plan, PlannedBuffer, PodReference } from '../model/plan.ts';
import { plainCostOf, weighedCostOf } from '../model/weighed-cost.ts';
import { isBufferPod, type BufferPods } from '../present/buffer-pods.ts';
import { byCodeUnit } from '../rules/label-rule.ts';

import type { Workspace } from '../placing/state/workspace.ts';
import { podName } from '../model/pod-name.ts';
import { microUsdPerHour } from '../quantity/units.ts';
import type { LowerBounds } from '../bound/lower-bound.ts';
import { cheaperExplainer } from './cheaper/explain-cheaper.ts';
import { deviceAssignments } from './claims/device-assignments.ts';
import { renderClaims } from './claims/render-claim.ts';
import { explainLeft } from './reasons/explain.ts';
import { poolFacts } from './remedies/pool-facts.ts';
import type { PoolFacts } from './remedies/facts-of-pool.ts';
import type { PoolState } from '../offerings/pool-state.ts';

/** All that a plan tells: where pods and the room of buffers went, and why not where they have none. */
export interface Placements {
  readonly workspace: Workspace;
  readonly left: ReadonlyArray<Pod>;
  /** Of `left`, as it was before buffers took what these pods did not want. */
  readonly reasons: Reasons;
  readonly buffers: ReadonlyArray<BufferPods>;
  readonly leftOfBuffers: ReadonlyArray<Pod>;
}

/** The plan as data: claims with their fallbacks, where pods are nominated to, who is left and why, what it costs. */
export function tellPlan(placements: Placements, bounds: LowerBounds): Plan {
  const { workspace, left, reasons } = placements;
  const claims = renderClaims(workspace, cheaperExplainer(workspace));
  return {
    claims,
    nominations: nominationsOf(workspace, (pod) => !isBufferPod(pod)),
    left: leftPods(workspace, left, reasons),
    buffers: plannedBuffers(placements),
    devices: deviceAssignments(workspace, claims),
    cost: plainCostOf(claims),
    lowerBound: microUsdPerHour(bounds.plain),
    weighed: { cost: weighedCostOf(claims), lowerBound: microUsdPerHour(bounds.weighed) },
  };
}

/** By index of shape. */
export type Reasons = ReadonlyMap<number, LeftPod['refusals']>;

/** Pods of one shape are left for the same reasons, which are worked out once. */
export function reasonsFor(workspace: Workspace, left: ReadonlyArray<Pod>): Reasons {
  const reasons = new Map<number, LeftPod['refusals']>();
  const known = new Map<PoolState, PoolFacts>();
  const factsOf = (state: PoolState): PoolFacts => {
    const facts = known.get(state) ?? poolFacts(state, workspace.dimensions);
    known.set(state, facts);
    return facts;
  };
  for (const index of new Set(left.map(({ shape }) => shape))) {
    const shape = workspace.shapes.get(index);
    if (shape !== undefined) reasons.set(index, explainLeft(workspace, shape, factsOf));
  }
  return reasons;
}

function plannedBuffers({ workspace, buffers, leftOfBuffers: left }: Placements): ReadonlyArray<PlannedBuffer> {
  const reasons = reasonsFor(workspace, left);
  return buffers.map(({ buffer, pods }) => {
    const own = new Set(pods);
    const claims = workspace.claims.map((claim, index) => ({
      claim: index,
      pods: claim.pods.filter((pod) => own.has(pod)),
    }));
    return {
      buffer,
      nominations: nominationsOf(workspace, (pod) => own.has(pod)),
      claims: claims.flatMap((one) =>
        one.pods.length === 0 ? [] : [{ ...one, pods: toReferences(workspace, one.pods) }],
      ),
      left: leftPods(
        workspace,
        left.filter((pod) => own.has(pod)),
        reasons,
      ),
    };
  });
}

function nominationsOf(workspace: Workspace, isWanted: (pod: Pod) => boolean): ReadonlyArray<Nomination> {
  return workspace.nodes.flatMap(({ capacity, pods }) => {
    const own = pods.filter(isWanted);
    if (own.length === 0) return [];
    return [{ target: { kind: capacity.kind, name: capacity.name }, pods: toReferences(workspace, own) }];
  });
}

function leftPods(workspace: Workspace, left: ReadonlyArray<Pod>, reasons: Reasons): ReadonlyArray<LeftPod> {
  return left
    .map((pod) => ({ pod: toReference(workspace, pod), refusals: reasons.get(pod.shape) ?? [] }))
    .toSorted((a, b) => byReference(a.pod, b.pod));
}

function toReferences(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<PodReference> {
  return pods.map((pod) => toReference(workspace, pod)).toSorted(byReference);
}

function toReference(workspace: Workspace, pod: Pod): PodReference {
  return { name: podName(workspace.input.cluster, pod), uid: pod.uid };
}

function byReference(a: PodReference, b: PodReference): number {
  return byCodeUnit(a.name, b.name) || byCodeUnit(a.uid, b.uid);
}
