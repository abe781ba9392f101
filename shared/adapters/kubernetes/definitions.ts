import { DEFINITIONS_AGE_MS, type Definitions, type Kubernetes } from '../../ports/kubernetes.ts';

/**
 * Names kept at most. A cluster has a few dozen pools; a name that is asked for and does not exist takes a place, too.
 */
const KEPT_MAX = 1_000;

interface Kept<T> {
  readonly atMs: number;
  readonly answer: Promise<T | null>;
}

/** Reads each definition once for all who ask within its age. A failure is theirs, too, and the next one asks again. */
export function createDefinitions(kubernetes: Pick<Kubernetes, 'get'>, now: () => number): Definitions {
  return {
    nodePool: kept((name) => kubernetes.get('NodePool', { name, namespace: null }), now),
    nodeClass: kept((name) => kubernetes.get('AKSNodeClass', { name, namespace: null }), now),
  };
}

function kept<T>(read: (name: string) => Promise<T | null>, now: () => number): (name: string) => Promise<T | null> {
  const known = new Map<string, Kept<T>>();
  return (name) => {
    const atMs = now();
    const last = known.get(name);
    if (last !== undefined && atMs - last.atMs < DEFINITIONS_AGE_MS) return last.answer;
    if (known.size >= KEPT_MAX) known.clear();
    const answer = read(name);
    const fresh = { atMs, answer };
    known.set(name, fresh);
    answer.catch(() => {
      if (known.get(name) === fresh) known.delete(name);
    });
    return answer;
  };
}
