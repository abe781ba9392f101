import { isObject } from '../settings/json.ts';
import type { RpcTypedData } from '../worker/rpc.ts';

/**
 * Adds the properties of a text that is a JSON object to the trigger metadata of its message, over names that stand
 * there, as the host does for an input of one string (`Utility.ApplyBindingData`, 2024-10). Lists and nulls are left
 * out.
 */
export function addJsonProperties(metadata: Record<string, RpcTypedData>, text: string): void {
  for (const [name, value] of Object.entries(parseOrEmpty(text))) {
    if (value === null || Array.isArray(value)) continue;
    metadata[name] = typeof value === 'object' ? { json: JSON.stringify(value) } : { string: renderAsDotNet(value) };
  }
}

function parseOrEmpty(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** .NET begins True and False with a capital. */
function renderAsDotNet(value: unknown): string {
  const text = String(value);
  return typeof value === 'boolean' ? `${text[0]?.toUpperCase()}${text.slice(1)}` : text;
}
