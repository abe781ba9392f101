import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJsonObject } from './json.ts';

/**
 * The app settings of a running app: the environment, over `local.settings.json`, as Azure Functions Core Tools gives
 * them.
 */
export interface Settings {
  /**
   * The setting's value, or null when it is not set or empty. Names ignore case, as on Windows and in .NET's
   * configuration.
   */
  get(name: string): string | null;
  /** Every setting that came from local.settings.json only: what the worker's environment still needs. */
  readonly fromFile: ReadonlyMap<string, string>;
}

/**
 * Reads `local.settings.json` of the app folder, when there is one, under `environment`. Throws when the file is
 * broken.
 */
export async function readSettings(
  appFolder: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Settings> {
  const values = await readValues(join(appFolder, 'local.settings.json'));
  const fromFile = new Map([...values].filter(([name]) => environment[name] === undefined));
  const byLowerName = new Map([...fromFile].map(([name, value]) => [toKey(name), value]));
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined) byLowerName.set(toKey(name), value);
  }
  return {
    get: (name) => {
      const value = byLowerName.get(toKey(name));
      return value === undefined || value === '' ? null : value;
    },
    fromFile,
  };
}

/** The setting's name as configuration compares it: no case, and `__` is the environment's spelling of `:`. */
function toKey(name: string): string {
  return name.toLowerCase().replaceAll(':', '__');
}

async function readValues(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return new Map();
  const file = parseJsonObject(text, path);
  if (file['IsEncrypted'] === true)
    throw new Error(`${path}: IsEncrypted is true; only plain values can be read here.`);
  const values = file['Values'] ?? {};
  if (!isObject(values)) throw new Error(`${path}: "Values" must be an object of strings.`);
  return new Map(
    Object.entries(values).map(([name, value]) => {
      if (typeof value === 'string') return [name, value];
      if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
      throw new Error(`${path}: Values.${name} must be a string.`);
    }),
  );
}

/**
 * Replaces every `%NAME%` by that setting. Throws, naming the function, its property and the setting, when one is
 * missing.
 */
export function resolveSettings(text: string, settings: Settings, where: SettingUse): string {
  return text.replaceAll(/%([^%]+)%/g, (_match, name: string) => {
    const value = settings.get(name);
    if (value === null) {
      throw new Error(
        `Function '${where.functionName}': ${where.property} is '${text}', but the setting '${name}' is not set. ` +
          'Set it in the environment or under "Values" of local.settings.json.',
      );
    }
    return value;
  });
}

/** Who asks for a setting, for the error. */
export interface SettingUse {
  readonly functionName: string;
  readonly property: string;
}
