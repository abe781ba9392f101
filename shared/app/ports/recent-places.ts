import type { InFlightClaim } from '../../core/model/provisioning-input.ts';
import type { Plan } from '../../core/model/plan.ts';
import { claimOfVm } from '../../contract/vm-name.ts';

/**
 * Where this process's last plan put pods that no decision names: onto nodes that are on their way for others. While
 * that holds, a plan would say it again. Lost with the process, which costs a plan.
 */
export interface RecentPlaces {
  /** `generation`: the ledger's, once the plan has been carried out. */
  note(plan: Pick<Plan, 'nominations'>, generation: number): void;
  /**
   * The uids of pods whose place is on a claim that is still in flight. None once anybody has decided anything: it may
   * have taken the place.
   */
  promised(generation: number, inFlight: ReadonlyMap<string, InFlightClaim>): ReadonlyArray<string>;
}

/** Makes one that knows of no plan. */
export function createRecentPlaces(): RecentPlaces {
  let last: { readonly nominations: Plan['nominations']; readonly generation: number } | null = null;
  return {
    note({ nominations }, generation) {
      last = { nominations, generation };
    },
    promised(generation, inFlight) {
      if (last?.generation !== generation) return [];
      return last.nominations.flatMap(({ target: { kind, name }, pods }) => {
        const claim = kind === 'claim' ? name : claimOfVm(name);
        return claim !== null && inFlight.has(claim) ? pods.map(({ uid }) => uid) : [];
      });
    },
  };
}
