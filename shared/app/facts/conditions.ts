import type { Condition } from '../../kubernetes/manifest.ts';

/** A condition as a use case states it; times and generation are added when it is set. */
export interface ConditionChange {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** The moment `now` as Kubernetes writes times: RFC 3339 in whole seconds. */
export function toTimestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function conditionOf(conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: ReadonlyArray<Condition> | undefined, type: string): boolean {
  return conditionOf(conditions, type)?.status === 'True';
}

/**
 * `conditions` with `changes` set, and with the root condition `Ready` derived from `dependents`: all True makes it
 * True; one that is False makes it False `UnhealthyDependents`; else Unknown `ReconcilingDependents`. A transition time
 * moves only when the status does. As the status library of Karpenter has it (karpenter-core.md §1.3).
 */
export function setConditions(
  current: ReadonlyArray<Condition> | undefined,
  changes: ReadonlyArray<ConditionChange>,
  root: {
    readonly dependents: ReadonlyArray<string>;
    readonly generation: number;
    readonly nowMs: number;
    readonly createdAt: string;
  },
): ReadonlyArray<Condition> {
  const byType = new Map((current ?? []).map((condition) => [condition.type, condition]));
  for (const type of root.dependents) {
    if (!byType.has(type)) byType.set(type, awaiting(type, root.generation, root.createdAt));
  }
  for (const change of changes) byType.set(change.type, stamp(byType.get(change.type), change, root));
  const ready = deriveReady(root.dependents.map((type) => byType.get(type)).filter((one) => one !== undefined));
  byType.set('Ready', stamp(byType.get('Ready'), ready, root));
  return [...byType.values()];
}

/** `conditions` with `changes` set, and no root. A transition time moves only when the status does. */
export function putConditions(
  current: ReadonlyArray<Condition> | undefined,
  changes: ReadonlyArray<ConditionChange>,
  at: { readonly generation: number; readonly nowMs: number },
): ReadonlyArray<Condition> {
  const byType = new Map((current ?? []).map((condition) => [condition.type, condition]));
  for (const change of changes) byType.set(change.type, stamp(byType.get(change.type), change, at));
  return [...byType.values()];
}

/** `conditions` without those of `types`. */
export function clearConditions(
  conditions: ReadonlyArray<Condition>,
  types: ReadonlyArray<string>,
): ReadonlyArray<Condition> {
  return conditions.filter(({ type }) => !types.includes(type));
}

/** True when writing `next` over `current` would change nothing that a reader sees. */
export function sameConditions(current: ReadonlyArray<Condition> | undefined, next: ReadonlyArray<Condition>): boolean {
  const text = (conditions: ReadonlyArray<Condition>): string =>
    JSON.stringify(
      conditions
        .map(({ type, status, reason, message, observedGeneration }) => [
          type,
          status,
          reason,
          message,
          observedGeneration,
        ])
        // Stryker disable next-line EqualityOperator: any order will do that is one for both lists
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    );
  return text(current ?? []) === text(next);
}

function awaiting(type: string, generation: number, createdAt: string): Condition {
  return {
    type,
    status: 'Unknown',
    reason: 'AwaitingReconciliation',
    message: 'object is awaiting reconciliation',
    lastTransitionTime: createdAt,
    observedGeneration: generation,
  };
}

function stamp(
  previous: Condition | undefined,
  change: ConditionChange,
  root: { readonly generation: number; readonly nowMs: number },
): Condition {
  const moved =
    previous === undefined || previous.status !== change.status || previous.lastTransitionTime === undefined;
  return {
    ...change,
    lastTransitionTime: moved ? toTimestamp(root.nowMs) : previous.lastTransitionTime,
    observedGeneration: root.generation,
  };
}

function deriveReady(dependents: ReadonlyArray<Condition>): ConditionChange {
  const unhealthy = dependents.filter(({ status }) => status === 'False');
  const undecided = dependents.filter(({ status }) => status !== 'True' && status !== 'False');
  const listed = (conditions: ReadonlyArray<Condition>): string =>
    conditions.map(({ type, status }) => `${type}=${status}`).join(', ');
  if (unhealthy.length > 0) {
    return { type: 'Ready', status: 'False', reason: 'UnhealthyDependents', message: listed(unhealthy) };
  }
  if (undecided.length > 0) {
    return { type: 'Ready', status: 'Unknown', reason: 'ReconcilingDependents', message: listed(undecided) };
  }
  return { type: 'Ready', status: 'True', reason: 'Ready', message: '' };
}
