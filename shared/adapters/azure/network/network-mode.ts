import type { Settings } from '../../../contract/settings/settings.ts';

/** How pods get their addresses and who routes them, in the words of AKS. */
export interface NetworkMode {
  readonly plugin: string;
  /** `overlay`, or empty: pods have addresses of the nodes' subnet, or of nobody that AKS knows. */
  readonly pluginMode: string;
  /** `cilium`, `azure`, or empty. */
  readonly dataplane: string;
  /** `cilium`, `azure`, `calico`, or empty. */
  readonly policy: string;
}

/** What Karpenter's Azure provider takes where a setting is absent; an empty one says that there is none. */
const DEFAULTS: NetworkMode = { plugin: 'azure', pluginMode: 'overlay', dataplane: 'cilium', policy: '' };

/**
 * The cluster's network as the settings have it. Without AKS's plugin there is neither mode nor dataplane to assume.
 */
export function networkModeOf(
  settings: Pick<Settings, 'NETWORK_PLUGIN' | 'NETWORK_PLUGIN_MODE' | 'NETWORK_DATAPLANE' | 'NETWORK_POLICY'>,
): NetworkMode {
  const plugin = settings.NETWORK_PLUGIN ?? DEFAULTS.plugin;
  const assumed = plugin === DEFAULTS.plugin ? DEFAULTS : { ...DEFAULTS, pluginMode: '', dataplane: '' };
  return {
    plugin,
    pluginMode: settings.NETWORK_PLUGIN_MODE ?? assumed.pluginMode,
    dataplane: settings.NETWORK_DATAPLANE ?? assumed.dataplane,
    policy: settings.NETWORK_POLICY ?? assumed.policy,
  };
}

export function isOverlay({ plugin, pluginMode }: NetworkMode): boolean {
  return plugin === 'azure' && pluginMode === 'overlay';
}

/** Each pod takes an address of the nodes' subnet, so that the network interface must bring them along. */
export function isNodeSubnet({ plugin, pluginMode }: NetworkMode): boolean {
  return plugin === 'azure' && pluginMode !== 'overlay';
}
