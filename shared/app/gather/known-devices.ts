import { readStatedDevices } from '../../contract/api/annotations/stated-devices.ts';
import { mergeTemplates, toTemplateSlices, type DeviceTemplates } from '../../core/model/device-templates.ts';
import { observedTemplates } from '../../core/devices/observed-templates.ts';
import type { Cluster } from '../../core/model/cluster.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import { byCodeUnit } from '../../core/rules/label-rule.ts';

/** What is known of the devices of nodes to come. */
export interface KnownDevices {
  readonly templates: DeviceTemplates;
  /** What is to be remembered; null when that is what was remembered before. */
  readonly learned: DeviceTemplates | null;
}

/**
 * What nodes that are there publish is believed first: a promise that a node did not keep is not made again. Then what
 * is stated of a pool, and last what nodes published that are gone.
 */
export function knownDevices(
  cluster: Pick<Cluster, 'nodes' | 'nodePools' | 'resourceSlices'>,
  remembered: DeviceTemplates,
): KnownDevices {
  const pools = new Set(cluster.nodePools.map(({ metadata }) => metadata.name));
  const observed = observedTemplates(cluster);
  const merged = mergeTemplates(remembered, observed);
  const learned = new Map([...merged].filter(([pool]) => pools.has(pool)));
  return {
    templates: mergeTemplates(learned, statedTemplates(cluster.nodePools), observed),
    learned: textOf(learned) === textOf(remembered) ? null : learned,
  };
}

/** What NodePools state by annotation. A pool whose statement has a mistake is not ready, and states nothing. */
export function statedTemplates(nodePools: ReadonlyArray<NodePool>): DeviceTemplates {
  return new Map(
    nodePools.map(({ metadata }) => {
      const { byType, problems } = readStatedDevices(metadata);
      const types = problems.length > 0 ? [] : [...byType];
      return [metadata.name, new Map(types.map(([type, slices]) => [type, toTemplateSlices(slices)]))];
    }),
  );
}

/** Equal content has equal text, whatever the order in which it was stored. */
function textOf(templates: DeviceTemplates): string {
  const lines = [...templates].flatMap(([pool, types]) =>
    [...types].map(([type, slices]) => JSON.stringify([pool, type, slices])),
  );
  return lines.toSorted(byCodeUnit).join('\n');
}
