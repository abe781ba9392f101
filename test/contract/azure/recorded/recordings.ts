import { readFileSync } from 'node:fs';

/** An answer of Azure's as it was recorded or reported. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or text that is none; null for no body. */
  readonly body: unknown;
}

interface Recording {
  readonly parts: ReadonlyArray<{ readonly exchanges: ReadonlyArray<Answer> }>;
}

interface Reported {
  readonly synchronous: ReadonlyArray<Answer>;
  readonly asynchronous: ReadonlyArray<{ readonly code: string; readonly message: string | null }>;
}

const FOLDER = new URL('../../../fixtures/azure-recordings/', import.meta.url);

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
}

/** The answer of one exchange of a recording, by its part and its place there. */
export function recorded(name: string, part: number, place: number): Answer {
  const answer = (read(name) as Recording).parts[part]?.exchanges[place];
  if (answer === undefined) throw new Error(`${name} has no exchange ${part}/${place}`);
  return answer;
}

/** The first answer with such a code that somebody has reported, and whose words are these where some are given. */
export function reported(code: string, words = ''): Answer {
  const found = (read('error-vm-and-nic-reported') as Reported).synchronous.find(
    ({ body }) => codeOf(body) === code && JSON.stringify(body).includes(words),
  );
  if (found === undefined) throw new Error(`nobody has reported ${code} ${words}`);
  return found;
}

/** How an allocation failed that somebody has reported, as the instance view of its VM says it. */
export function reportedLater(code: string): { readonly code: string; readonly message: string } {
  const all = (read('error-vm-and-nic-reported') as Reported).asynchronous;
  const found = all.find((one) => one.code === code && one.message !== null);
  if (found === undefined) throw new Error(`nobody has reported ${code}`);
  return { code: code.replace('ProvisioningState/failed/', ''), message: found.message ?? '' };
}

/** The same answer with another status, or headers besides its own. */
export function as(answer: Answer, change: Partial<Answer>): Answer {
  return { ...answer, ...change, headers: { ...answer.headers, ...change.headers } };
}

/**
 * The same with the tag of `cluster`: what was recorded is of somebody else's, and other than ours we touch nothing.
 */
export function tagged(answer: Answer, cluster: string): Answer {
  const body = answer.body as object;
  return as(answer, { body: { ...body, tags: { 'karpenter.azure.com_cluster': cluster } } });
}

/** An answer in Azure's form that nobody has recorded: its code is in Azure's documentation. */
export function documented(status: number, code: string, message: string, more: object = {}): Answer {
  return { status, body: { error: { code, message, ...more } } };
}

/** A page of whoever stands in between. */
export const PAGE: Answer = {
  status: 404,
  headers: { 'Content-Type': 'text/html' },
  body: '<html><body>404 - File or directory not found.</body></html>',
};

function codeOf(body: unknown): string | undefined {
  return (body as { readonly error?: { readonly code?: string } } | null)?.error?.code;
}
