import type { NodeConfig } from './node-controller.ts';

/** Where the node controller looks for its configuration. */
const CONFIG = '/opt/azure/containers/aks-node-controller-config.json';

/** What a machine finds in its custom data, or why it finds nothing. */
export type CustomData =
  { readonly kind: 'config'; readonly config: NodeConfig } | { readonly kind: 'unreadable'; readonly why: string };

/**
 * Reads custom data as cloud-init and the node controller would: a multipart document with a boothook that writes the
 * controller's configuration and starts it. The hook is read, not run: what it writes is taken from its here-document.
 */
export function readCustomData(customData: string | null): CustomData {
  const unreadable = (why: string): CustomData => ({ kind: 'unreadable', why });
  if (customData === null) return unreadable('the VM has no custom data');
  const hook = bootHookOf(Buffer.from(customData, 'base64').toString('utf8'));
  if (hook === null) return unreadable('the custom data is no multipart document with a boothook');
  const payload = writtenTo(CONFIG, hook);
  if (payload === null) return unreadable(`the boothook writes no ${CONFIG}`);
  if (!hook.includes('aks-node-controller')) return unreadable('the boothook does not start the node controller');
  try {
    const config: unknown = JSON.parse(Buffer.from(payload, 'base64').toString('utf8'));
    if (typeof config !== 'object' || config === null) return unreadable('the configuration is no JSON object');
    return { kind: 'config', config: config as NodeConfig };
  } catch {
    return unreadable('the configuration is no JSON');
  }
}

/** The body of the part that cloud-init runs at boot; null where there is none. */
function bootHookOf(text: string): string | null {
  const [, boundary] = /^Content-Type: multipart\/mixed; boundary="([^"]+)"$/im.exec(text) ?? [];
  if (boundary === undefined) return null;
  const parts = text.split(new RegExp(`^--${escaped(boundary)}(?:--)?$`, 'm')).slice(1);
  const hook = parts.find((part) => /^Content-Type: text\/cloud-boothook/im.test(part));
  return hook?.slice(hook.indexOf('\n\n') + 2) ?? null;
}

/** The here-document that a line of the script sends to a file; null where none does. */
function writtenTo(file: string, script: string): string | null {
  const pattern = new RegExp(`^.*>\\s*${escaped(file)} <<'(\\w+)'\\n([\\s\\S]*?)\\n\\1$`, 'm');
  return pattern.exec(script)?.[2] ?? null;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
