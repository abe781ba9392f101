import type { Scheduler } from 'fast-check';
import { createDefinitions } from '../../../shared/adapters/kubernetes/definitions.ts';
import { createLedger } from '../../../shared/adapters/kubernetes/ledger.ts';
import { createTurns } from '../../../shared/app/ports/turns.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { type End, endingWith } from '../../../shared/app/ports/ports-until.ts';
import { createRecentPlaces } from '../../../shared/app/ports/recent-places.ts';
import { createUnwantedSince } from '../../../shared/app/ports/unwanted-since.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { machine, type smallCluster } from '../../kit/app/small-cluster.ts';

/** More than any of these needs: each failure means that another has gone on. */
const TRIES_MAX = 20;

/**
 * The ports of a process of its own, over a cluster that others share: what a process remembers is its own, and each
 * call of the API server, of Azure and of storage happens when `scheduler` says so, whatever others do before.
 */
export function processOver({ ports }: ReturnType<typeof smallCluster>, scheduler: Scheduler): Ports {
  const turn: End = {
    before: async (call) => {
      await scheduler.schedule(Promise.resolve());
      return call();
    },
  };
  const kubernetes = endingWith(turn, ports.kubernetes);
  return {
    ...ports,
    kubernetes,
    definitions: createDefinitions(kubernetes, ports.now),
    ledger: createLedger(kubernetes, 'nodewright-system', ports.now),
    cloud: endingWith(turn, ports.cloud),
    catalogs: endingWith(turn, ports.catalogs),
    snapshots: endingWith(turn, ports.snapshots),
    decisions: endingWith(turn, ports.decisions),
    figuresLog: endingWith(turn, ports.figuresLog),
    turns: createTurns(),
    told: createRecentReports(),
    places: createRecentPlaces(),
    unwanted: createUnwantedSince(),
  };
}

/** As the queue does: what lost a race, or met a fault, is done again, until it is done. */
export async function untilDone<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  for (let tried = 1; ; tried++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof RetryableError) || tried === TRIES_MAX) throw error;
    }
  }
}

/** An Azure that makes one machine of a name, whoever asks first. */
export function oneOfAName({ outside, azure }: ReturnType<typeof smallCluster>): void {
  outside.launch = ({ claim }) => {
    const known = azure.machines.get(claim);
    return known === undefined ? { kind: 'accepted', machine: machine(claim) } : { kind: 'exists', machine: known };
  };
}
