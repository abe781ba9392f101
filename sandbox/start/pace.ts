import type { Latency, Span } from '../azure/state/options.ts';
import type { MachinePace } from '../world/machines.ts';

const SECOND = 1_000;

/** What a machine takes on Azure from running to joined, about: its waits are shortened in the same proportion. */
const AZURE_BOOT_SECONDS = 60;

/** How fast machines come and go. */
export interface Pace {
  readonly machines: MachinePace;
  readonly latency: Latency;
}

/**
 * Everything in proportion to the time that a VM takes from running to joined, as on Azure, where a VM is allocated in
 * a tenth to a quarter of that time and deleted in about half of it. Requests take some tens of milliseconds whatever
 * the pace: they decide how long a decision takes, which the sandbox is to show as it is.
 */
export function paceFor(bootSeconds: number): Pace {
  const bootMs = bootSeconds * SECOND;
  const share = (min: number, max: number): Span => ({ minMs: bootMs * min, maxMs: bootMs * max });
  return {
    machines: { joinMs: bootMs, readyMs: bootMs / 10, nodeRemovalMs: 2 * SECOND },
    latency: {
      request: { minMs: 15, maxMs: 60 },
      nic: share(0.02, 0.05),
      allocation: share(0.08, 0.2),
      provisioning: share(0.1, 0.25),
      vmDelete: share(0.25, 0.6),
      extension: share(0.1, 0.2),
      retryAfterShare: Math.min(1, bootSeconds / AZURE_BOOT_SECONDS),
    },
  };
}
