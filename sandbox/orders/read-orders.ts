import { join } from 'node:path';
import { type AzureOptions, azureDefaults, type Latency } from '../azure/state/options.ts';
import { readSizes } from '../azure/catalog/sizes.ts';
import { readAppSettings } from './app-settings.ts';
import type { Assignment } from './assignment.ts';
import { type Behaviour, defaultBehaviour, type Region, readBehaviour, readRegion } from './azure-behaviour.ts';
import { readQuotaLimits } from './quota-limits.ts';
import { type GivenConfig, readConfig } from './read-config.ts';

/** What was asked for on the command line. */
export interface GivenOrders extends GivenConfig {
  /** A file of orders; null: none. */
  readonly config: string | null;
}

/** What the sandbox is to do other than it does by itself. */
export interface Orders {
  readonly settings: Readonly<Record<string, string>>;
  readonly azure: Behaviour & Pick<AzureOptions, 'quota' | 'resourceGroup'> & { readonly region: Region };
}

const NOTHING: GivenConfig = { settings: [], azure: [], quota: [] };

/**
 * Reads and judges all orders; the command line wins over the file. `latency` is what Azure takes unless told. Throws
 * an Error with a line for everything that is wrong: the field, what is wrong with it, and the fix.
 */
export function readOrders(root: string, given: GivenOrders, latency: Latency): Orders {
  const file = given.config === null ? NOTHING : readConfig(given.config);
  const settings = readAppSettings(over(given.settings, file.settings, (name) => name));
  const azure = over(given.azure, file.azure, (name) => name.toLowerCase());
  const { region, problems: regionProblems } = readRegion(azure);
  const sizes = readSizes(join(root, 'sandbox/azure/data'), region);
  const behaviour = readBehaviour(azure, { ...defaultBehaviour, latency }, (name) => sizes.has(name.toLowerCase()));
  const families = [...new Set([...sizes.values()].map(({ family }) => family))];
  const limits = over(given.quota, file.quota, (name) => name.toLowerCase());
  const quota = readQuotaLimits(limits, azureDefaults.quota, families);
  const problems = [...settings.problems, ...regionProblems, ...behaviour.problems, ...quota.problems];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const resourceGroup = azureDefaults.resourceGroup.replace(azureDefaults.region, region);
  return {
    settings: settings.settings,
    azure: { ...behaviour.behaviour, region, resourceGroup, quota: quota.quota },
  };
}

/** The command line's, and of the file's what it does not name. */
function over(
  given: ReadonlyArray<Assignment>,
  file: ReadonlyArray<Assignment>,
  key: (name: string) => string,
): ReadonlyArray<Assignment> {
  const named = new Set(given.map(({ name }) => key(name)));
  return [...file.filter(({ name }) => !named.has(key(name))), ...given];
}
