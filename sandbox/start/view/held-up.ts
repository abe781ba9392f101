import { annotation } from '../../../shared/contract/names.ts';
import type { LabelSelector } from '../../../shared/kubernetes/manifest.ts';
import { isFinished, type KubernetesObject, type Node, type Pod } from '../../kubernetes/client/objects.ts';
import { matchesSelector } from '../../kubernetes/matching.ts';
import type { NodeClaim } from './cluster-objects.ts';

/** The parts of a PodDisruptionBudget that the display reads. */
export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: { readonly disruptionsAllowed?: number };
}

/** The startup taint that a node which is otherwise ready still has, as `KEY:EFFECT`; null: none. */
export function startupTaintOf(claim: NodeClaim, node: Node): string | null {
  const wanted = claim.spec?.startupTaints ?? [];
  const found = (node.spec?.taints ?? []).find((taint) =>
    wanted.some(({ key, effect }) => key === taint.key && effect === taint.effect),
  );
  return found === undefined ? null : `${found.key}:${found.effect}`;
}

/** What keeps the pods of a node that is to be emptied; null where nothing does. */
export function drainHeldBy(pods: Iterable<Pod>, budgets: ReadonlyMap<string, PodDisruptionBudget>): string | null {
  const staying = [...pods].filter((pod) => !isFinished(pod) && pod.metadata.deletionTimestamp === undefined);
  for (const pod of staying) {
    const budget = [...budgets.values()].find((one) => isClosedTo(one, pod));
    if (budget !== undefined) return `PodDisruptionBudget ${fullName(budget)}`;
  }
  const kept = staying.find(({ metadata }) => metadata.annotations?.[annotation.doNotDisrupt] === 'true');
  return kept === undefined ? null : `pod ${fullName(kept)} (do-not-disrupt)`;
}

function isClosedTo({ metadata, spec, status }: PodDisruptionBudget, pod: Pod): boolean {
  const isOurs = metadata.namespace === pod.metadata.namespace && matchesSelector(spec?.selector, pod.metadata.labels);
  return isOurs && (status?.disruptionsAllowed ?? 0) === 0;
}

function fullName({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? 'default'}/${metadata.name}`;
}
