import { readFeatureGates } from './feature-gates.ts';
import type { Settings } from './settings.ts';

/** Whether and how nodes are disrupted, as app settings say. */
export interface DisruptionOptions {
  readonly isOn: boolean;
  /** Spot nodes may be replaced by cheaper spot nodes: Karpenter's gate SpotToSpotConsolidation. */
  readonly spotToSpot: boolean;
  /** Sick nodes are replaced: Karpenter's gate NodeRepair. */
  readonly nodeRepair: boolean;
}

/**
 * Reads the options of disruption; on where nothing is said. Throws an Error that names the setting and what it may be.
 */
export function readDisruption(settings: Pick<Settings, 'DISRUPTION' | 'FEATURE_GATES'>): DisruptionOptions {
  const { DISRUPTION: text = 'on' } = settings;
  if (text !== 'on' && text !== 'off') throw new Error(`app setting DISRUPTION is ${text}; write on or off`);
  const gates = readFeatureGates(settings.FEATURE_GATES ?? '');
  return { isOn: text === 'on', spotToSpot: gates.SpotToSpotConsolidation, nodeRepair: gates.NodeRepair };
}
