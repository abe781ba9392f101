import { setTimeout as sleep } from 'node:timers/promises';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { MemoryBlobs } from '../../simulation/world/memory-blobs.ts';
import { createDecisions } from '../../../shared/adapters/storage/decisions.ts';
import { createFiguresLog } from '../../../shared/adapters/storage/figures-log.ts';
import { createSnapshots } from '../../../shared/adapters/storage/snapshots.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { createRecentPlaces } from '../../../shared/app/ports/recent-places.ts';
import { createUnwantedSince } from '../../../shared/app/ports/unwanted-since.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { KARPENTER_POLICY } from '../../../shared/core/model/provisioning-input.ts';
import type { LedgerState } from '../../../shared/ports/store.ts';
import { FIRST_LEDGER } from '../../setup/first-ledger.ts';

const CLUSTER = 'bench';

/** Later than every pod was created, so that nothing waits for more of them. */
const STARTED_MS = Date.parse('2027-01-01T00:00:00Z');

/**
 * The ports of one look at a cluster, in memory: the snapshot is there, all sizes may be had, and whatever is written
 * is taken. Storage is the product's own over a container in memory; what is created is put into the form that is sent.
 * Only what provisioning and disruption ask for is there, and nothing is read back: of what disruption marks, each is
 * gone already.
 */
export function portsInMemory(snapshot: Uint8Array, types: ReadonlyArray<InstanceType>, pool: NodePool): Ports {
  const blobs = new MemoryBlobs();
  blobs.writeNow(`${CLUSTER}/latest`, snapshot, 'any');
  const now = (): number => STARTED_MS + Math.round(performance.now());
  let created = 0;
  const kubernetes = {
    list: (kind: string) => Promise.resolve(kind === 'NodePool' ? [pool] : []),
    get: () => Promise.resolve(null),
    create: (_: string, object: object) => {
      const resourceVersion = String((created += 1));
      const sent = JSON.parse(JSON.stringify(object)) as { readonly metadata: object };
      return Promise.resolve({ kind: 'created', object: { ...sent, metadata: { ...sent.metadata, resourceVersion } } });
    },
  };
  const ports = {
    cluster: CLUSTER,
    policy: KARPENTER_POLICY,
    disruption: { isOn: true, policy: DEFAULT_DISRUPTION },
    planner: planProvisioning,
    disruptionPlanner: planDisruption,
    dedicatesNodes: true,
    now,
    kubernetes,
    definitions: { nodePool: () => Promise.resolve(pool), nodeClass: () => Promise.resolve(null) },
    catalogs: {
      currency: 'USD',
      instanceTypes: () => Promise.resolve(types),
      nextRetryMs: () => Promise.resolve(null),
    },
    deviceSelectors: null,
    snapshots: {
      ...createSnapshots(blobs, CLUSTER, () => Promise.reject(new Error('the relay is not silent'))),
      // For as long as the benchmark takes, whatever that is.
      heartbeatMs: () => Promise.resolve(now()),
    },
    decisions: createDecisions(blobs, CLUSTER),
    figuresLog: createFiguresLog(blobs, CLUSTER),
    ledger: {
      // The snapshot knows all NodeClaims: whoever listed them here would find none.
      read: () => Promise.resolve({ ...FIRST_LEDGER, claimsResourceVersion: '0' }),
      commit: (base: LedgerState, decision: string) =>
        Promise.resolve({
          kind: 'committed',
          state: { ...base, generation: base.generation + 1, decision, executed: false },
        }),
      goOn: (state: LedgerState) => Promise.resolve(state),
      markExecuted: () => Promise.resolve(),
    },
    hints: { send: () => Promise.resolve() },
    sleep: (ms: number) => sleep(ms, undefined, { ref: false }),
    told: createRecentReports(),
    places: createRecentPlaces(),
    unwanted: createUnwantedSince(),
    log: () => undefined,
  } satisfies Partial<Record<keyof Ports, unknown>>;
  // Ports that are there in part: what a look asks for beside is missing, and the bench fails where it is asked for.
  return ports as unknown as Ports;
}
