import { generationLease } from '../../contract/names.ts';
import { RefusedError } from '../../ports/errors.ts';
import type { Kubernetes, Lease } from '../../ports/kubernetes.ts';
import type { Ledger, LedgerState } from '../../ports/store.ts';

const key = {
  decision: 'nodewright.dev/decision',
  executed: 'nodewright.dev/executed-generation',
  claims: 'nodewright.dev/claims-resource-version',
} as const;

/**
 * The generation in a Lease: `spec.leaseTransitions` counts the plans, annotations name the latest decision and how far
 * it got. The Lease's resource version makes each write conditional, so of two plans based on one generation one wins.
 */
export function createLedger(kubernetes: Kubernetes, namespace: string, now: () => number): Ledger {
  const where = { name: generationLease, namespace };
  return {
    read: async () => {
      const lease = await kubernetes.get('Lease', where);
      if (lease !== null) return toState(lease);
      const made = await kubernetes.create('Lease', emptyLease(namespace));
      if (made.kind === 'created') return toState(made.object);
      if (made.kind === 'refused') throw new RefusedError(made.refusal);
      return toState((await kubernetes.get('Lease', where)) ?? emptyLease(namespace));
    },
    commit: async (base, decision) => {
      const outcome = await kubernetes.patch('Lease', where, {
        metadata: { resourceVersion: base.token, annotations: { [key.decision]: decision } },
        spec: { leaseTransitions: base.generation + 1, renewTime: microTime(now()) },
      });
      if (outcome.kind === 'refused') throw new RefusedError(outcome.refusal);
      return outcome.kind === 'written' ? { kind: 'committed', state: toState(outcome.object) } : { kind: 'lost' };
    },
    goOn: async (state) => {
      const outcome = await kubernetes.patch('Lease', where, {
        metadata: { resourceVersion: state.token },
        spec: { renewTime: microTime(now()) },
      });
      return outcome.kind === 'written' ? toState(outcome.object) : state;
    },
    markExecuted: async (state, claimsResourceVersion) => {
      const claims = claimsResourceVersion ?? state.claimsResourceVersion;
      const outcome = await kubernetes.patch('Lease', where, {
        metadata: {
          resourceVersion: state.token,
          annotations: {
            [key.executed]: String(state.generation),
            ...(claims === null ? {} : { [key.claims]: claims }),
          },
        },
        spec: { renewTime: microTime(now()) },
      });
      if (outcome.kind === 'refused') throw new RefusedError(outcome.refusal);
    },
  };
}

function toState(lease: Lease): LedgerState {
  const { annotations = {}, resourceVersion } = lease.metadata;
  const generation = lease.spec?.leaseTransitions ?? 0;
  const decision = annotations[key.decision] ?? null;
  return {
    generation,
    decision,
    executed: decision === null || annotations[key.executed] === String(generation),
    heardAtMs: Date.parse(lease.spec?.renewTime ?? '') || null,
    claimsResourceVersion: annotations[key.claims] ?? null,
    token: resourceVersion ?? null,
  };
}

function emptyLease(namespace: string): Lease & { readonly apiVersion: string; readonly kind: string } {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: generationLease, namespace },
    spec: { holderIdentity: 'nodewright', leaseTransitions: 0 },
  };
}

/** Kubernetes' MicroTime wants six decimals. */
function microTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z');
}
