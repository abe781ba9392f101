import { join } from 'node:path';
import type { PodSpec } from '../../../shared/kubernetes/manifest.ts';
import type { Azure } from '../../azure/running-azure.ts';
import { readSizes } from '../../azure/catalog/sizes.ts';
import type { Orders } from '../../orders/read-orders.ts';
import type { QuotaShortage } from '../../quota/find-shortages.ts';
import { watchQuota } from '../../quota/watch-quota.ts';
import { type AppEvent, textFact } from './app-events.ts';
import type { Observed } from './observe-cluster.ts';
import type { Waiting } from './view.ts';

/** Says, as the run goes on, whether quota is why pods wait. */
export interface ObservedQuota {
  /** Told of everything that the app logs. */
  readonly tellApp: (event: AppEvent) => void;
  /** The quotas that keep these pods waiting; looked at afresh each second, or less often where that takes long. */
  readonly shortages: (waiting: ReadonlyArray<Waiting>) => ReadonlyArray<QuotaShortage>;
}

/** Views come five times a second; what a thousand pods could run on is not asked that often. */
const LOOK_MS = 1_000;
/** A look at many kinds of pods takes longer: it may have a tenth of the time. */
const REST_PER_LOOK = 9;

/** Watches quota for one run. `root` is the repository. */
export function observeQuota(azure: Azure, observed: Observed, orders: Orders, root: string): ObservedQuota {
  const { region, resourceGroup } = orders.azure;
  const { NETWORK_PLUGIN: networkPlugin = 'azure', NETWORK_PLUGIN_MODE: networkPluginMode = 'overlay' } =
    orders.settings;
  const watch = watchQuota({
    azure,
    sizes: readSizes(join(root, 'sandbox/azure/data'), region),
    settings: {
      location: region,
      nodeResourceGroup: resourceGroup,
      networkPlugin,
      networkPluginMode,
      memoryOverhead: Number(orders.settings['VM_MEMORY_OVERHEAD_PERCENT'] ?? MEMORY_OVERHEAD),
    },
    pools: () => observed.pools.values(),
    classes: () => observed.classes,
  });
  let known: ReadonlyArray<QuotaShortage> = [];
  let nextLookAt = 0;
  return {
    tellApp: (event) => {
      if (event.event !== 'offering-refused') return;
      const fact = (name: string): string => textFact(event, name);
      const capacityType = fact('capacityType') === 'spot' ? 'spot' : 'on-demand';
      const [instanceType, zone, reason, message] = [
        fact('instanceType'),
        fact('zone'),
        fact('reason'),
        fact('message'),
      ];
      watch.tell({ instanceType, zone, capacityType, reason, message }, Date.now());
    },
    shortages: (waiting) => {
      if (waiting.length === 0) return [];
      const startedAt = Date.now();
      if (startedAt < nextLookAt) return known;
      // The sandbox's own type of a spec has what its controllers read; on the wire it is one and the same.
      const specs = waiting.flatMap(({ pods }) =>
        pods.flatMap((key) => (observed.pods.get(key)?.spec as PodSpec) ?? []),
      );
      known = watch.shortages(specs, Date.now());
      const endedAt = Date.now();
      nextLookAt = endedAt + Math.max(LOOK_MS, REST_PER_LOOK * (endedAt - startedAt));
      return known;
    },
  };
}

/** The product's own default. */
const MEMORY_OVERHEAD = '0.075';
