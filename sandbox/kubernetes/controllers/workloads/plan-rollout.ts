/** A replica set as a rollout sees it. */
export interface RolloutSet {
  /** What it is told to have. */
  readonly replicas: number;
  readonly available: number;
  /** Pods it still has. */
  readonly existing: number;
}

/** The state of a rollout; `older` is ordered from the oldest. */
export interface Rollout {
  readonly strategy: 'RollingUpdate' | 'Recreate';
  readonly desired: number;
  readonly surge: number;
  readonly unavailable: number;
  readonly current: RolloutSet;
  readonly older: ReadonlyArray<RolloutSet>;
}

/** What each replica set is to be told next. */
export interface RolloutTargets {
  readonly current: number;
  readonly older: ReadonlyArray<number>;
}

/**
 * The next step of a rollout: never more pods than desired plus surge, never fewer available than desired minus
 * unavailable, as the deployment controller keeps it.
 */
export function planRollout(rollout: Rollout): RolloutTargets {
  const { strategy, desired, current, older } = rollout;
  if (strategy === 'Recreate') {
    const gone = older.every(({ existing, replicas }) => existing === 0 && replicas === 0);
    return { current: gone ? desired : current.replicas, older: older.map(() => 0) };
  }
  const total = current.replicas + sum(older, 'replicas');
  if (current.replicas > desired) return { current: desired, older: older.map(({ replicas }) => replicas) };
  const room = desired + rollout.surge - total;
  if (current.replicas < desired && room > 0) {
    const grown = current.replicas + Math.min(room, desired - current.replicas);
    return { current: grown, older: older.map(({ replicas }) => replicas) };
  }
  return { current: current.replicas, older: shrinkOlder(rollout, total) };
}

function shrinkOlder({ desired, unavailable, current, older }: Rollout, total: number): ReadonlyArray<number> {
  const leastAvailable = desired - unavailable;
  const waiting = current.replicas - current.available;
  let mayGo = Math.max(0, total - leastAvailable - waiting);
  const targets = older.map(({ replicas }) => replicas);
  // Pods that are not available serve nobody: they go first.
  for (const [index, { replicas, available }] of older.entries()) {
    const step = Math.min(mayGo, Math.max(0, replicas - available));
    targets[index] = replicas - step;
    mayGo -= step;
  }
  let spare = Math.max(0, current.available + sum(older, 'available') - leastAvailable);
  for (const [index, replicas] of targets.entries()) {
    const step = Math.min(spare, mayGo, replicas);
    targets[index] = replicas - step;
    spare -= step;
    mayGo -= step;
  }
  return targets;
}

function sum(sets: ReadonlyArray<RolloutSet>, field: 'replicas' | 'available'): number {
  return sets.reduce((total, set) => total + set[field], 0);
}
