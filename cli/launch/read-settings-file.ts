import { type Settings, readSettings } from '../../shared/contract/settings/settings.ts';
import { mapAt } from '../input/json-fields.ts';
import { readSource } from '../input/read/read-sources.ts';
import { fileProblem, WrongInputError } from '../wrong-input.ts';

/** Connections that a launch does not use: who only looks need not give them. */
const UNUSED = {
  ServiceBus__fullyQualifiedNamespace: 'unused',
  SnapshotStorage__blobServiceUri: 'unused',
};

/**
 * Reads app settings as `local.settings.json` has them, under `Values`, or as a plain object of names and values.
 * Throws WrongInputError that names what is missing, or no text.
 */
export function readSettingsFile(path: string): Settings {
  const { origin, text } = readSource(path);
  const wrong = (message: string, fix: string): WrongInputError =>
    new WrongInputError([fileProblem(origin, message, fix)]);
  const given = parse(text);
  if (given === null) throw wrong('is no JSON object', 'give app settings as local.settings.json has them');
  const values = 'Values' in given ? mapAt(given, 'Values') : given;
  const odd = Object.entries(values).find(([, value]) => typeof value !== 'string');
  if (odd !== undefined) throw wrong(`${odd[0]} is no text`, 'write every setting as a text, in quotes');
  try {
    return readSettings({ ...UNUSED, ...(values as Readonly<Record<string, string>>) });
  } catch (error) {
    const [message = '', fix = 'see local.settings.sample.json'] = (error as Error).message.split('; ');
    throw wrong(message, fix.replace('add them to the function app', 'add them to the file'));
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}
