import type { ClaimLife, PodLife } from '../../soak/observe.ts';

/** A pod that waits, but for what is told. */
export function pod(of: Partial<PodLife> = {}): PodLife {
  return {
    name: 'web-1',
    app: 'web',
    canRun: true,
    isProtected: false,
    seenMs: 0,
    boundMs: null,
    node: null,
    goneMs: null,
    isRunning: false,
    isFinished: false,
    goneFor: '',
    told: [],
    ...of,
  };
}

/** A claim that has just been made, but for what is told. */
export function claim(of: Partial<ClaimLife> = {}): ClaimLife {
  return {
    name: 'general-1',
    pool: 'general',
    seenMs: 0,
    readyMs: null,
    deletingMs: null,
    goneMs: null,
    isUsed: false,
    emptySinceMs: null,
    longestEmptyMs: 0,
    disruption: '',
    isInterrupted: false,
    isTerminating: false,
    ...of,
  };
}
