import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { WorkloadIdentity } from './workload-identity.ts';

/** Where the storage account is and how to be let in. */
export type StorageSettings =
  | { readonly kind: 'connectionString'; readonly connectionString: string }
  | { readonly kind: 'identity'; readonly blobServiceUri: string; readonly identity: WorkloadIdentity };

/** An answer of the blob service, with header names in lower case. */
export interface BlobAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>;
  /** Of an answer to GET; empty for others. */
  readonly body: Uint8Array;
}

/**
 * The four requests of the blob service that the relay makes. The general client costs 28 MiB of memory, a fifth of
 * what the relay may use. test/contract/relay keeps it honest, on Azurite.
 */
export interface BlobClient {
  /** One request for `/container/blob`. Rejects only when no answer came, or one that is too large. */
  readonly request: (
    method: 'GET' | 'PUT' | 'HEAD',
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
  ) => Promise<BlobAnswer>;
  readonly close: () => void;
}

/** The service's version that we speak. */
const serviceVersion = '2023-11-03';

/** Longest that a request may be silent. A snapshot is some MB. */
const TIMEOUT_MS = 15_000;

/** The relay reads figures of plans, some KiB, and nothing else. */
const LARGEST_BODY = 65_536;

interface Account {
  readonly base: URL;
  /** What lets each request in, as headers; a shared access signature stands in the address in their place. */
  readonly authorization: () => Promise<Readonly<Record<string, string>>>;
}

/** Makes a client. Throws TypeError naming what a connection string lacks. */
export function createBlobClient(settings: StorageSettings): BlobClient {
  const account = settings.kind === 'identity' ? identityAccount(settings) : signedAccount(settings.connectionString);
  const isHttps = account.base.protocol === 'https:';
  const agent = isHttps ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });

  async function request(
    method: 'GET' | 'PUT' | 'HEAD',
    path: string,
    given: Readonly<Record<string, string>>,
    body: Uint8Array,
  ): Promise<BlobAnswer> {
    const { origin, pathname, search } = account.base;
    const query = search === '' ? '' : `${path.includes('?') ? '&' : '?'}${search.slice(1)}`;
    // The account's host stays whatever the path begins with.
    const url = new URL(`${origin}${pathname.replace(/\/+$/, '')}${path}${query}`);
    const headers = {
      ...given,
      ...(await account.authorization()),
      'x-ms-date': new Date().toUTCString(),
      'x-ms-version': serviceVersion,
      ...(method === 'PUT' ? { 'content-length': String(body.byteLength) } : {}),
    };
    return new Promise((resolve, reject) => {
      const sent = (isHttps ? httpsRequest : httpRequest)(url, {
        method,
        headers,
        agent,
        timeout: TIMEOUT_MS,
      });
      sent.on('timeout', () => sent.destroy(new Error(`no byte from the storage account for ${TIMEOUT_MS} ms`)));
      sent.on('error', reject);
      sent.on('response', (answer) => {
        collect(answer, method === 'GET').then(
          (kept) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: kept }),
          reject,
        );
      });
      sent.end(body);
    });
  }

  return { request, close: () => agent.destroy() };
}

/** Reads an answer to its end; what is not asked for is let go. */
async function collect(answer: IncomingMessage, isWanted: boolean): Promise<Uint8Array> {
  const chunks: Array<Buffer> = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (!isWanted) continue;
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BODY) throw new Error(`the blob is larger than ${LARGEST_BODY} bytes`);
  }
  return Buffer.concat(chunks);
}

function identityAccount({ blobServiceUri, identity }: Extract<StorageSettings, { kind: 'identity' }>): Account {
  return {
    base: new URL(blobServiceUri),
    authorization: async () => ({
      authorization: `Bearer ${(await identity.getToken('https://storage.azure.com/.default')).token}`,
    }),
  };
}

/** Accounts that a deployment makes take no keys, so the relay signs nothing: whoever starts it by hand has signed. */
function signedAccount(connectionString: string): Account {
  const parts = new Map(
    connectionString.split(';').map((part) => {
      const equals = part.indexOf('=');
      return [part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim()];
    }),
  );
  const [endpoint, signature] = [parts.get('blobendpoint'), parts.get('sharedaccesssignature')];
  if (endpoint === undefined || signature === undefined) {
    throw new TypeError('the storage connection string has no BlobEndpoint and SharedAccessSignature');
  }
  if (!URL.canParse(endpoint)) throw new TypeError('the storage connection string has a BlobEndpoint that is no URL');
  const base = new URL(endpoint);
  // A plus sign that nobody has escaped would arrive as a space.
  base.search = signature.replaceAll('+', '%2B');
  return { base, authorization: () => Promise.resolve({}) };
}
