import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import { compileSelector, selects } from '../../rules/selector.ts';
import { spreadPods } from '../../rules/topology-terms.ts';
import { WAITED_FOR, type DisruptionStep } from '../plan/disruption-plan.ts';

/**
 * Which of its pods the step has as many on one host as on one that goes, and how many: provisioning plans for them
 * with these in `ProvisioningInput.crowds`. By index of shape; none where each finds a place beside the hosts that go.
 */
export function crowdsIn(
  { reason, remove, moves }: Pick<DisruptionStep, 'reason' | 'remove' | 'moves'>,
  { pods, shapes }: Pick<Cluster, 'pods' | 'shapes'>,
): ReadonlyMap<number, number> {
  const crowds = new Map<number, number>();
  if (!WAITED_FOR.has(reason)) return crowds;
  const going = new Set(remove);
  const targets = new Map(moves.map(({ uid, to }) => [uid, to.name]));
  const moving = pods.filter(({ uid }) => targets.has(uid));
  const living = pods.filter(({ deleting }) => !deleting);
  for (const shape of new Set(moving.map((pod) => pod.shape))) {
    for (const constraint of hostSpreadsOf(shapes[shape])) {
      const counted = countedBy(shapes, shapes[shape], constraint);
      const before = countBy(living, ({ nodeName }) => (going.has(nodeName ?? '') ? nodeName : null), counted);
      const after = countBy(living, ({ uid, nodeName }) => targets.get(uid) ?? nodeName, counted);
      const isCrowded = [...new Set(targets.values())].some((name) => (after.get(name) ?? 0) > constraint.maxSkew);
      const all = [...before.values()].reduce((sum, count) => sum + count, 0);
      // Evenly, as many hosts come as go.
      if (isCrowded) crowds.set(shape, Math.max(crowds.get(shape) ?? 0, Math.ceil(all / before.size)));
    }
  }
  return crowds;
}

/** The spreads over hosts that must be kept. */
function hostSpreadsOf(shape: PodShape | undefined): ReadonlyArray<TopologySpreadConstraint> {
  return (shape?.spec.topologySpreadConstraints ?? []).filter(
    ({ topologyKey, whenUnsatisfiable }) =>
      whenUnsatisfiable !== 'ScheduleAnyway' && normalizeKey(topologyKey) === labelKey.hostname,
  );
}

/** Does the constraint of the shape count a pod? */
function countedBy(
  shapes: ReadonlyArray<PodShape>,
  owner: PodShape | undefined,
  constraint: TopologySpreadConstraint,
): (pod: Pod) => boolean {
  if (owner === undefined) return () => false;
  const selectors = spreadPods(owner, constraint).selectors.map(compileSelector);
  return ({ shape }) => {
    const other = shapes[shape];
    return other?.namespace === owner.namespace && selectors.every((one) => selects(one, other.labels));
  };
}

function countBy(
  pods: ReadonlyArray<Pod>,
  placeOf: (pod: Pod) => string | null,
  isCounted: (pod: Pod) => boolean,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const place = placeOf(pod);
    if (place !== null && isCounted(pod)) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return counts;
}
